"""Submissions to the benchmark: right records and bounds are accepted, and each planted defect is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dpopt.comparison.instances import read_instance
from dpopt.comparison.submissions import check_submission
from dpopt.errors import DpoptError, ProgramError
from dpopt.models import Formulation
from dpopt.models.best_responses.best_response import best_response
from dpopt.models.catalogue import instances
from tests.cli.command_line import refuse, succeed

CONJUNCTIONS, PARITIES, RULES = "adult-conjunctions-40", "adult-parities-5", "under-three-rules"
HEAD = {"dpopt_submission": 1, "by": "somebody", "on": "2026-11-29", "how": "by hand"}
RECORD = {
    **HEAD,
    "instance": RULES,
    "value": read_instance(instances()[RULES]).best_known,
    "record": instances()[RULES].read_text(encoding="utf-8").partition('record = "')[2].partition('"')[0],
}


def names_and_multipliers(name: str, formulation: Formulation) -> dict[str, float]:
    """Return marginals of the minimization in the .mps file, by the names of its rows, from another library than dpopt's."""
    model = best_response(read_instance(instances()[name]).problem, formulation)
    program, text = model.linear, model.text(".mps").decode()
    rows = [line.split()[1] for line in text.partition("ROWS")[2].partition("COLUMNS")[0].splitlines() if line.strip()]
    matrix, sides = program.matrix().toarray(), (program.row_upper, -program.row_lower)
    above, below = (np.flatnonzero(np.isfinite(side)) for side in sides)
    found = linprog(
        -program.objective,
        np.concatenate([matrix[above], -matrix[below]]),
        np.concatenate([sides[0][above], sides[1][below]]),
        bounds=list(zip(program.lower.tolist(), program.upper.tolist(), strict=True)),
    )
    duals = np.zeros(program.number_of_rows)
    duals[above] += found.ineqlin.marginals[: above.size]
    duals[below] -= found.ineqlin.marginals[above.size :]
    return {row: float(dual) for row, dual in zip(rows[1:], duals, strict=True) if dual}


def bounded(name: str = CONJUNCTIONS, formulation: Formulation = Formulation.CLIQUE) -> dict[str, Any]:
    instance = read_instance(instances()[name])
    multipliers = names_and_multipliers(name, formulation)
    return {
        **HEAD,
        "instance": name,
        "bound": instance.proven_bound,
        "formulation": formulation.value,
        "multipliers": multipliers,
    }


def saved(tmp_path: Path, submission: dict[str, Any]) -> Path:
    path = tmp_path / "sent.json"
    path.write_text(json.dumps(submission), encoding="utf-8")
    return path


def test_a_record_that_is_as_good_is_right(tmp_path: Path) -> None:
    told = succeed("bench", "check", saved(tmp_path, RECORD))
    assert told == f"{RULES}: the record of 12 is right, and no better than what is known: 12\n"


def test_multipliers_of_another_library_prove_the_bound_that_is_known(tmp_path: Path) -> None:
    """The file's optimum is proven by one linear program; so is any weaker bound."""
    sent = bounded()
    (told,) = check_submission(saved(tmp_path, sent))
    assert told == f"{CONJUNCTIONS}: the bound of 42 is right, and no better than what is proven: 42"
    assert check_submission(saved(tmp_path, {**sent, "bound": 50})) == [told]


def test_what_is_better_than_the_file_is_called_so(tmp_path: Path) -> None:
    """A file that knows less is beaten by the record and the bound of the catalogue."""
    text = instances()[CONJUNCTIONS].read_text(encoding="utf-8")
    worse = text.partition("record = ")[0].replace("optimum = 42", "best_known = 41\nbound = 99")
    worse = worse.replace("proven_bound = 42", "proven_bound = 99") + "[problem]" + text.partition("[problem]")[2]
    file = tmp_path / f"{CONJUNCTIONS}.toml"
    file.write_text(worse, encoding="utf-8")
    record = text.partition('record = "')[2].partition('"')[0]
    path = saved(tmp_path, {**bounded(), "value": 42, "record": record})
    assert [line.partition(": ")[2] for line in check_submission(path, file)] == [
        "the record of 42 is better than what is known: 41",
        "the bound of 42 is better than what is proven: 99",
    ]


DEFECTS: list[tuple[dict[str, Any], str]] = [
    ({"value": 13}, "the record has objective 12; stated is 13"),
    ({"value": 11}, "the record has objective 12; stated is 11"),
    ({"record": "0=1 99=1"}, "the record names attribute 99"),
    ({"record": "0=77"}, "has code 77 for attribute 0"),
    ({"record": "first"}, "a record is text such as"),
    ({"record": None}, "expected a record with its value"),
    ({"value": None}, "expected a record with its value"),
    ({"value": None, "record": None}, "expected a record with its value"),
    ({"bound": 12}, "multipliers with the bound"),
    ({"value": 12.0}, "value"),
    ({"instance": "unknown"}, "there is no instance 'unknown'"),
    ({"on": "yesterday"}, "on"),
    ({"by": 3}, "by"),
    ({"objective": 3}, "objective"),
    ({"dpopt_submission": 2}, "dpopt_submission"),
]


@pytest.mark.parametrize(("change", "message"), DEFECTS, ids=lambda part: str(part)[:40])
def test_a_record_with_a_defect_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DpoptError, match=message):
        check_submission(saved(tmp_path, {**RECORD, **change}))


def test_a_record_that_breaks_a_rule_is_refused(tmp_path: Path) -> None:
    problem = read_instance(instances()[RULES]).problem
    rng = np.random.default_rng(0)
    records = (rng.random((200, problem.sizes.size)) * problem.sizes).astype(np.int32)
    broken = next(record for record in records if problem.broken_rules(record))
    text = " ".join(f"{place}={code}" for place, code in enumerate(broken.tolist()) if code)
    sent = {**RECORD, "record": text, "value": problem.objective(broken)}
    assert "the record breaks the rule" in refuse("bench", "check", saved(tmp_path, sent))


def test_a_bound_with_a_defect_is_refused(tmp_path: Path) -> None:
    """Too small a bound, multipliers of the other sign, half of them, none (all positive weights: 88), of no row."""
    sent = bounded()
    row, multiplier = next(iter(sent["multipliers"].items()))
    turned = {name: -number for name, number in sent["multipliers"].items()}
    fewer = dict(list(sent["multipliers"].items())[::2])
    changes: list[tuple[dict[str, Any], str]] = [
        ({"bound": 41}, "the multipliers prove the bound 42; the submission claims 41"),
        ({"multipliers": turned}, "the multipliers prove the bound"),
        ({"multipliers": fewer}, "the multipliers prove the bound"),
        ({"multipliers": {}}, "the multipliers prove the bound 88; "),
        ({"multipliers": {"BR-99[0]": 1.0}}, "there is no row 'BR-99"),
        ({"multipliers": {row: f"{multiplier}"}}, "multipliers"),
        ({"formulation": "cliques"}, "did you mean 'clique'"),
        ({"multipliers": None}, "expected a record with its value"),
    ]
    for change, message in changes:
        with pytest.raises(DpoptError, match=message.replace("[", r"\[")):
            check_submission(saved(tmp_path, {**sent, **change}))


def test_the_linear_relaxation_proves_no_integer_bound(tmp_path: Path) -> None:
    """Of parities the relaxation leaves a gap: its multipliers are refused for the optimum, which a solver reports."""
    sent = {**bounded(PARITIES, Formulation.PER_LITERAL), "bound": read_instance(instances()[PARITIES]).best_known}
    with pytest.raises(ProgramError, match="the multipliers prove the bound"):
        check_submission(saved(tmp_path, sent))
