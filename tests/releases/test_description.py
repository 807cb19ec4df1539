"""Warnings: each stands in README.txt, in the report, in `repr`, and is raised once."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.releases.descriptions.description import guarantee
from dpopt.releases.descriptions.readme import README

AGES = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 101, 10)))
SCHEMA = dpopt.Schema((AGES, dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN)))
TABLE = pd.DataFrame({"age": np.arange(100) % 100, "smoker": ["true", "false"] * 50})
LARGE: dict[str, Any] = {"epsilon": 500.0, "n0": 100, "algorithm": "noise", "predict": False}
WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "delta": ({**LARGE, "delta": 0.1}, "delta = 0.1 is not below 1/n", "delta not below 1/n"),
    "declared size": ({**LARGE, "n0": 1000}, "the released values contradict it", "n0=1,000 contradicted: about 100"),
    "noisy size": (
        {"epsilon": 5.0, "algorithm": "noise", "predict": False, "delta": 1e-6},
        "the number of records, [0-9]+, is private too",
        "measured with much noise",
    ),
    "trivial answers": (
        {**LARGE, "epsilon": 1e-3, "predict": True},
        "on the public population, one record of first values",
        "trivial answers are predicted to be as good",
    ),
}


@pytest.mark.parametrize("case", WARNED)
def test_a_warning_is_raised_once_and_stands_everywhere(case: str, tmp_path: Path) -> None:
    terms, text, brief = WARNED[case]
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        made = dpopt.release(TABLE, SCHEMA, "marginals:1", out=tmp_path / "out", **terms)
    assert len([one for one in raised if re.search(text, str(one.message))]) == 1
    readme = " ".join((tmp_path / "out" / README).read_text(encoding="utf-8").split())
    sentence = re.sub("^(the number|on the) ", lambda first: first[0].capitalize(), text)
    for shown in (readme, " ".join(dpopt.report(made).split())):
        assert len(re.findall(sentence, shown)) == 1
    assert brief in repr(made)


def test_a_release_without_a_cause_is_not_warned_of() -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:1", delta=1e-6, **LARGE)
    assert not any(brief in repr(made) for _, _, brief in WARNED.values())


def test_a_pure_release_says_so(tmp_path: Path) -> None:
    made = dpopt.release(TABLE, SCHEMA, "marginals:1", out=tmp_path / "out", delta=0, **LARGE)
    assert "EPSILON = 500 (PURE) FOR ONE RECORD" in (tmp_path / "out" / README).read_text(encoding="utf-8")
    assert "(pure)" in repr(made)
    assert "(pure)" in guarantee(made.statement["privacy"])
