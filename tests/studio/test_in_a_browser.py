"""The studio in headless Chromium, served as people have it: the whole job, a page loaded anew in the middle of a run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reports.test_in_a_browser import browser
from tests.studio.test_studio import TABLE

pytest.importorskip("uvicorn", reason="the studio's libraries are not installed: pip install 'dpopt[studio]'")
assert callable(browser)  # the fixture

WIDTHS = (400, 1400)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Start the command and return the address that it prints; it ends with Ctrl-C and leaves no private folder."""
    command = [
        sys.executable,
        "-m",
        "dpopt",
        "studio",
        "--no-browser",
        "--folder",
        str(tmp_path / "releases"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        lines = [served.stdout.readline() for _ in range(3)]
        yield re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", "".join(lines))[0]
        served.send_signal(2)
        assert served.wait(30) == 0


def fits(page: Any) -> None:
    """The page is as wide as the window at every width, and every field has a label."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    unlabelled = (
        "[...document.querySelectorAll('input,select,textarea')].filter(e => !e.labels.length).length"
    )
    assert page.evaluate(unlabelled) == 0
    assert page.evaluate("document.querySelectorAll('h1').length") == 1


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
    assert "token" not in page.url
    fits(page)
    page.set_input_files("#file", str(tmp_path / "people.csv"))
    page.click("text=Read the columns")
    page.wait_for_url("**/columns")
    fits(page)
    page.check("[name=reviewed]")
    page.click("text=Go on to rules")
    page.wait_for_url("**/rules")
    fits(page)
    page.click("text=Go on to the budget")
    page.wait_for_url("**/plan")
    page.fill("#n", "1000")
    page.click("text=Plan, and predict")
    page.wait_for_selector("text=Predicted errors", timeout=120_000)
    fits(page)
    page.click("text=Release with epsilon 1")
    page.wait_for_url("**/run")
    page.reload()
    assert page.inner_text("h1") in {"Releasing", "Released"}
    page.wait_for_selector("text=May be handed on", timeout=120_000)
    fits(page)
    with page.expect_download() as download:
        page.click("text=Records alone")
    assert Path(download.value.path()).read_text().startswith("age,sex,")
    page.click("text=Report with the table")
    page.wait_for_selector("text=Not private")
    assert said == []
    assert {re.sub(r"(//[^/]*).*", r"\1", url) for url in asked} == {re.sub(r"(//[^/]*).*", r"\1", address)}
    stranger = browser.new_context().new_page()
    assert stranger.goto(page.url).status == 403
