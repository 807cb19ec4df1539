"""`python -m docs`: build the site in docs/_build/html, without a network; warnings, dead links and outside requests fail."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
SITE = HERE / "_build" / "html"
FETCHED = {"audio", "embed", "iframe", "img", "link", "script", "source", "video"}
"""Elements whose address a browser opens by itself."""


class Page(HTMLParser):
    """Anchors of a page, its links, and what a browser fetches with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, set[str](), set[str]()
        self.fetched.update(re.findall(r"url\(['\"]?(https?:[^)'\"]+)", text))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in {"href", "src"} and value:
                (self.fetched if tag in FETCHED else self.links).add(value)


def problems(site: Path) -> Iterator[str]:
    """Yield links and anchors of a site that lead nowhere, and what its pages would fetch from elsewhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        shown = path.relative_to(site)
        for address in sorted(page.links | page.fetched):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.fetched and parts.scheme != "data":
                    yield f"{shown}: fetches {address}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{shown}: no {address}"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{shown}: no anchor {address}"
    for path in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import )['\"]?(https?:[^)'\"]+)", path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: fetches {address}"


def main() -> int:
    """Build and check the site."""
    shutil.rmtree(SITE.parent, ignore_errors=True)
    failed = build_main(["-q", "-W", "--keep-going", "-j", "auto", "-c", str(HERE), str(HERE.parent), str(SITE)])
    found = list(problems(SITE))
    print(*found, f"{SITE / 'index.html'}", sep="\n")
    return int(bool(failed or found))


if __name__ == "__main__":
    sys.exit(main())
