"""The page models/best_response and the docstring of its code state the same formulas."""

from __future__ import annotations

import re

from tests.models.catalogue import MODELS
from tests.source_code import ROOT

FOLDER = MODELS / "best_response"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_formulas_of_the_code_are_those_of_the_page() -> None:
    """In the page's table and in the docstring: the label, and the formula without blanks."""
    rows = re.findall(r"^\| (BR-\d) +\|.*\| (.+?) +\|$", PAGE, re.MULTILINE)
    source = (ROOT / "dpopt/models/best_responses/max_csp_as_mip.py").read_text(encoding="utf-8")
    stated = {}
    for line in source.partition('"""')[2].partition('"""')[0].splitlines():
        match = re.match(r"^ +(?:maximize  |subject to  )?(?:w_j [<>] 0, \w+: +)?(.+?)\s+(BR-\d)$", line)
        if match:
            formula = re.sub(r"\s+for (every attribute a|every literal of j)$", "", match.group(1))
            stated[match.group(2)] = formula.replace(" ", "")
    expected = {label: formula.replace("maximize ", "").replace(" ", "") for label, formula in rows}
    expected["BR-7"] = "0<=c_j<=1,x[a,v]binary"  # the same two, in the other order
    assert stated == expected
