"""The studio in headless Chromium, served as people have it: the whole job, a page loaded anew in the middle of a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.reports.test_in_a_browser import browser
from tests.studio.test_studio import HOSTILE, TABLE

pytest.importorskip("uvicorn", reason="the studio's libraries are not installed: pip install 'dpopt[studio]'")
assert callable(browser)  # the fixture

WIDTHS = (400, 1400)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Start the command and return the address that it prints; it ends with Ctrl-C and leaves no private folder."""
    command = [sys.executable, "-m", "dpopt", "studio", "--no-browser", "--folder", str(tmp_path / "releases")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        lines = [served.stdout.readline() for _ in range(4)]
        yield re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", "".join(lines))[0]
        served.send_signal(2)
        assert served.wait(30) == 0


def fits(page: Any) -> None:
    """The page is as wide as the window at every width, and every field has a label."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    fields = "[...document.querySelectorAll('input:not([type=hidden]),select,textarea')]"
    assert page.evaluate(f"{fields}.filter(e => !e.labels.length).length") == 0
    assert page.evaluate("document.querySelectorAll('h1').length") == 1


def button_in_reach(page: Any, label: str) -> None:
    """A button of a long page is seen without scrolling, at every width."""
    bottoms: list[float] = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollHeight") > 700
        box = page.locator(f"button:has-text('{label}')").bounding_box()
        bottoms.append(float(box["y"] + box["height"]))
    assert max(bottoms) <= 700, bottoms


def add_a_rule(page: Any) -> None:
    """Fill in the fields of an implication, see it declared, and remove it: a run without rules is quicker."""
    page.click("text=If one column has a value")
    fields = {"if0": "sex", "if0-is": "=", "if1": HOSTILE, "if1-is": "!="}
    for name, value in fields.items():
        page.select_option(f"#{name}", value)
    for name, value in {"if0-value": "f", "if1-value": "no"}.items():
        page.fill(f"#{name}", value)
    page.locator("button:has-text('Add this rule'):visible").click()
    page.wait_for_selector("h2:has-text('Declared')")
    fits(page)
    page.click("text=All rules as text")
    assert '"then": [' in page.input_value("#rules")
    page.fill("#rules", "")


def test_an_owner_comes_from_a_file_to_a_release(browser: Any, address: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    page = browser.new_page(accept_downloads=True)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#file")
    assert "token" not in page.url
    fits(page)
    page.set_input_files("#file", str(tmp_path / "people.csv"))
    page.click("text=Read the columns")
    page.wait_for_url("**/columns")
    fits(page)
    button_in_reach(page, "Save the review")
    page.check("[name=reviewed]")
    page.click("text=Save the review")
    page.wait_for_url("**/rules")
    fits(page)
    add_a_rule(page)
    page.click("text=go on to the budget")
    page.wait_for_url("**/plan")
    page.fill("#n", "1000")
    page.click("text=Plan, and predict")
    page.wait_for_selector("h2:has-text('Predicted errors')", timeout=120_000)
    fits(page)
    page.click("button:has-text('Release with epsilon 1')")
    page.wait_for_url("**/run")
    page.reload()
    assert page.inner_text("h1") in {"Releasing", "Released"}
    page.wait_for_selector("text=You can publish", timeout=120_000)
    fits(page)
    with page.expect_download() as download:
        page.click("text=Records alone")
    assert Path(download.value.path()).read_text().startswith("age,sex,")
    page.click("text=Report with the table")
    page.wait_for_selector("text=Not private")
    assert said == []
    asked = [url for url in asked if not url.startswith("file:")]
    assert {re.sub(r"(//[^/]*).*", r"\1", url) for url in asked} == {re.sub(r"(//[^/]*).*", r"\1", address)}
    stranger = browser.new_context().new_page()
    assert stranger.goto(page.url).status == 403
    assert stranger.goto(address).status == 403


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads the arguments of processes from /proc")
def test_the_file_that_opens_the_studio_admits_a_browser_and_no_process_shows_a_token(
    browser: Any, tmp_path: Path
) -> None:
    opener = tmp_path / "opener"
    opener.write_text(f"#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline > {tmp_path}/arguments\nsleep 20\n")
    opener.chmod(0o700)
    command = [sys.executable, "-m", "dpopt", "studio", "--folder", str(tmp_path / "releases")]
    environment = {**os.environ, "BROWSER": f"{opener} %s &"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as served:
        assert served.stdout is not None
        text = "".join(served.stdout.readline() for _ in range(4))
        for _ in range(200):
            if (tmp_path / "arguments").exists() and (tmp_path / "arguments").read_text():
                break
            time.sleep(0.05)
        given = (tmp_path / "arguments").read_text()
        assert "token" not in given
        named = re.findall(r"file://\S+", given)[0]
        for _ in range(2):  # the file can be opened again, with another token
            page = browser.new_context().new_page()
            page.goto(named)
            page.wait_for_selector("#file")
            assert "token" not in page.url
        token = re.findall(r"token=(\S+)", text)[0]
        for shown in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                assert token.encode() not in shown.read_bytes()
        own = page.context.cookies()
        assert [one["path"] for one in own] == ["/" + page.url.split("/")[3]]
        served.send_signal(2)
        assert served.wait(30) == 0


def test_a_page_on_another_port_gets_no_cookie_and_cannot_post(browser: Any, address: str) -> None:
    """The owner's browser opens a page that another account serves on 127.0.0.1."""
    seen: list[str] = []

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("cookie") or "")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            form = f"<form method=post action='{target}'><input name=path value=/etc/passwd><button>go</button></form>"
            self.wfile.write(form.encode())

        def log_message(self, *_: object) -> None: ...

    page = browser.new_context().new_page()
    page.goto(address)
    page.wait_for_selector("#file")
    target = page.url + "tables"  # even if it knew the path
    answers: list[int] = []
    with HTTPServer(("127.0.0.1", 0), Evil) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.on("response", lambda response: answers.append(response.status))
        page.click("text=go")
        page.wait_for_url(target)
        server.shutdown()
    assert answers[0] == 403
    assert set(seen) == {""}
