"""Ten answers of one release of a table, beside the truth by pandas, as a statistician would ask for them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import dpopt
from experiments.answers_cover.questions import schema_of
from experiments.experiment import Result
from experiments.runs import run_dpopt
from experiments.tables import data_file

DEFAULT = "default payment next month"
Truth = Callable[[pd.DataFrame], Any]
EXAMPLES: Mapping[str, Mapping[str, Truth]] = {
    "bank": {
        "count where y = yes": lambda t: (t.y == "yes").sum(),
        "count where job = retired and loan = no": lambda t: ((t.job == "retired") & (t.loan == "no")).sum(),
        "share of y = yes where poutcome = success": lambda t: (t[t.poutcome == "success"].y == "yes").mean(),
        "share of y = yes of student": lambda t: (t[t.job == "student"].y == "yes").mean(),
        "share of housing = yes of married - share of housing = yes of single": lambda t: (
            (t[t.marital == "married"].housing == "yes").mean() - (t[t.marital == "single"].housing == "yes").mean()
        ),
        "mean(age) of retired": lambda t: t[t.job == "retired"].age.mean(),
        "mean(duration) where y = yes": lambda t: t[t.y == "yes"].duration.clip(upper=5000).mean(),
        "mean(balance) where balance < 5000": lambda t: t[t.balance < 5000].balance.clip(lower=-10000).mean(),
        "median(duration) where y = no": lambda t: t[t.y == "no"].duration.median(),
        "y ~ housing + loan": lambda t: _slope(t.assign(y=t.y == "yes", housing=t.housing == "yes", loan=t.loan == "yes")),
    },
    "credit-card-clients": {
        f"count where {DEFAULT} = 1": lambda t: (t[DEFAULT] == 1).sum(),
        "count where AGE < 30 and SEX = 2": lambda t: ((t.AGE < 30) & (t.SEX == 2)).sum(),
        f"share of {DEFAULT} = 1 where PAY_0 = 2": lambda t: (t[t.PAY_0 == 2][DEFAULT] == 1).mean(),
        f"share of {DEFAULT} = 1 where PAY_0 = 0": lambda t: (t[t.PAY_0 == 0][DEFAULT] == 1).mean(),
        f"share of {DEFAULT} = 1 where SEX = 1 - share of {DEFAULT} = 1 where SEX = 2": lambda t: (
            (t[t.SEX == 1][DEFAULT] == 1).mean() - (t[t.SEX == 2][DEFAULT] == 1).mean()
        ),
        "mean(AGE) where MARRIAGE = 1": lambda t: t[t.MARRIAGE == 1].AGE.mean(),
        f"mean(LIMIT_BAL) where {DEFAULT} = 1": lambda t: t[t[DEFAULT] == 1].LIMIT_BAL.mean(),
        "mean(BILL_AMT1)": lambda t: t.BILL_AMT1.clip(-500000, 2000000).mean(),
        "median(LIMIT_BAL) where SEX = 2": lambda t: t[t.SEX == 2].LIMIT_BAL.median(),
        f"{DEFAULT} ~ SEX + AGE": lambda t: _slope(t.assign(y=t[DEFAULT], housing=t.SEX, loan=t.AGE)),
    },
}  # fmt: skip
"""Regressions give their second coefficient."""


def _slope(table: pd.DataFrame) -> float:
    design = np.column_stack((np.ones(len(table)), table.housing.astype(float), table.loan.astype(float)))
    return float(np.linalg.lstsq(design, table.y.astype(float), rcond=None)[0][1])


def examples(setting: tuple[str, float]) -> Result:
    """Return ten answers of one release, and the truth: of the table's own numbers, where answers know bins.

    They are asked for in Python and in the shell, which say the same.
    """
    name, epsilon = setting
    path, asked = data_file(f"tables/{name}.csv.gz"), list(EXAMPLES[name])
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/release"
        made = dpopt.release(path, schema_of(name), epsilon=epsilon, predict=False, out=out)
        shell = json.loads(run_dpopt(["answer", out, *asked, "--json"]).output)["answers"]
    table, rows = pd.read_csv(path), []
    for text in asked:
        found = made.answer(text).iloc[1 if "~" in text else 0]
        same = [one for one in shell if one["question"] == text]
        if ("~" not in text and len(same) != 1) or not any(one["estimate"] == found["estimate"] for one in same):
            raise ValueError(
                f"{name}: {text!r} is answered by {found['estimate']} in Python, and by {same} in the shell"
            )
        figures = {key: _figure(found.get(key)) for key in ("estimate", "low", "high", "least", "greatest")}
        truth = _figure(EXAMPLES[name][text](table))
        rows.append({"question": text, "truth": truth, **figures, "how": str(found["how"])})
    return {"table": name, "epsilon": epsilon, "answers": rows}


def _figure(value: Any) -> float | None:
    return None if value is None or np.isnan(value) else float(f"{float(value):.5g}")
