"""The steps of a table in the studio as commands and as a notebook."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from dpopt.html_pages.page import page

STEPS = {"steps.sh": "studio_steps.sh", "steps.ipynb": "studio_steps.json"}  # files, and their templates


def steps_of(file: str, name: str, plan: Mapping[str, Any], release: Mapping[str, Any], budget: str) -> str:
    """Return a file of `STEPS` for a table of this name, given the keywords of `dpopt.plan` and `dpopt.release`."""
    filters: dict[str, Callable[..., str]] = {
        "options": _options,
        "keywords": _keywords,
        "quoted": shlex.quote,
        "written": repr,
    }
    return page(STEPS[file], filters, name=name, plan=plan, release=release, budget=budget)


def _options(given: Mapping[str, Any]) -> str:
    texts = {name: "questions.txt" if isinstance(one, list) else str(one) for name, one in given.items()}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(text)}" for name, text in texts.items())


def _keywords(given: Mapping[str, Any]) -> str:
    return "".join(f", {name}={one!r}" for name, one in given.items())
