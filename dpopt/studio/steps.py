"""The steps of a table in the studio as commands and as a notebook."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dpopt.html_pages.page import page

STEPS = {"steps.sh": "studio_steps.sh", "steps.ipynb": "studio_steps.ipynb"}
"""Files of steps, and their templates."""


def steps_of(file: str, name: str, terms: Mapping[str, Any], reading: Mapping[str, Any], budget: str) -> str:
    """Return a file of `STEPS` for a table of this name; its schema is beside it as `schema.json`.

    Parameters
    ----------
    terms, reading
        What a plan takes besides the schema, and what a release takes besides the plan, by keywords of Python.
    """
    figures = terms.get("figures") or ()
    in_shell = {**terms, "figures": "questions.txt" if figures else None}
    paid = {**reading, "budget": budget or None}
    return page(
        STEPS[file],
        filters={"options": _options, "keywords": _keywords, "quoted": shlex.quote, "written": repr},
        name=name,
        figures=figures,
        plan=in_shell if file.endswith(".sh") else terms,
        release=paid if file.endswith(".sh") else reading,
        budget=budget,
    )


def _options(given: Mapping[str, Any]) -> str:
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(str(one))}" for name, one in given.items() if one)


def _keywords(given: Mapping[str, Any]) -> str:
    return "".join(f", {name}={one!r}" for name, one in given.items() if one)
