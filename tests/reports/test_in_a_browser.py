"""Reports and reviews of drafts in headless Chromium: every section drawn, nothing on the console, no request to a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.reports.report import report
from tests.reports.test_report import released, table

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    found = os.environ.get("DPOPT_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium on the PATH (apt install chromium)")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("reports")
    made, paths = released(), (folder / "public.html", folder / "own.html", folder / "draft.html")
    report(made, out=paths[0])
    report(made, table(), out=paths[1])
    infer_schema(pd.concat([table().add_prefix(f"{copy} ") for copy in "<i>"], axis=1)).write(folder / "draft.json")
    return paths


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_page_is_drawn_whole_and_asks_for_nothing(
    browser: Any, files: tuple[Path, Path, Path], which: int, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(files[which].as_uri())
    assert (said, asked) == ([], [files[which].as_uri()])
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SCROLLED) == []
    assert page.evaluate(TOUCHING) == []
    sizes = page.evaluate(
        "[...document.querySelectorAll('section, .column, svg, table.cards tbody tr')].map(one => "
        "one.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"
    )
    assert len(sizes) > 10
    assert min(sizes) > 8
    small = page.evaluate(
        "[...document.querySelectorAll('p, li, td, th, .label, .value')].filter(one => one.textContent.trim())"
        ".map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(small) >= 12
    assert page.evaluate(CONTRAST) >= 4.5
    page.close()


CONTRAST = """() => {
  const light = color => {
    const parts = color.match(/[0-9.]+/g).slice(0, 3).map(Number).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  return Math.min(...[...document.querySelectorAll('h1, h2, p, li, td')].map(one => light(getComputedStyle(one).color))
    .map(ink => (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05)));
}"""
"""The least contrast of a text with the page, by WCAG 2."""

SCROLLED = """[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => one.innerText)"""
"""What is wider than its frame."""

TOUCHING = """() => [...document.querySelectorAll('svg.histogram')].flatMap(picture => {
  const texts = [...picture.querySelectorAll('text')].filter(one => one.textContent);
  const boxes = texts.map(one => one.getBoundingClientRect());
  return texts.filter((one, i) => boxes.some((box, j) => j < i && box.left < boxes[i].right && boxes[i].left < box.right
    && box.top + 2 < boxes[i].bottom && boxes[i].top + 2 < box.bottom)).map(one => one.textContent);
})"""
"""Labels of charts that lie over others; lines of text have 2 pixels of air."""


def test_every_sheet_of_the_owners_page_is_marked(browser: Any, files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """A fixed element is drawn on every sheet; the margin of every sheet has the mark besides."""
    for path, marked in zip(files[:2], (False, True), strict=True):
        page = browser.new_page()
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        positions = "[...document.querySelectorAll('.every-page')].map(one => getComputedStyle(one).position)"
        assert page.evaluate(positions) == ["fixed"] * marked
        rules = "[...document.styleSheets[0].cssRules].filter(one => one instanceof CSSPageRule).length"
        assert page.evaluate(rules) == marked
        page.pdf(path=tmp_path / "own.pdf", prefer_css_page_size=True)
        assert (tmp_path / "own.pdf").stat().st_size > 10_000
        page.close()
