"""Noisy counts of conjunctions come from OpenDP's samplers through the curator, and from nowhere else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import ChargeKind
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import plan_summary
from tests.boundary.test_origin import constructions
from tests.private.test_trust import ClaimingNoise
from tests.source_code import source_files
from tests.tiny_runs import bits_schema, dataset_of

BUDGETS = {
    True: Budget(None, 1e-9, 0.5, Accountant.ZCDP),
    False: Budget(1.0, 0.0, None, Accountant.PURE),
}
LITERALS = ChosenLiterals.of(bits_schema(3), None, "all")
LAWS = {True: "discrete_gaussian", False: "discrete_laplace"}


def release(noise: Noise | None = None, *, gaussian: bool = False) -> Summary:
    plan = plan_summary(LITERALS, 3, BUDGETS[gaussian], size=6)
    return release_summary(dataset_of(LITERALS.schema, ((0, 1, 1), (1, 1, 0)) * 3), plan, noise=noise)


def text_of(summary: Summary) -> str:
    return json.dumps([summary.statement(), [noisy.tolist() for noisy in summary.noisy]])


@pytest.mark.parametrize("gaussian", [False, True])
def test_what_is_released_is_what_opendp_drew_and_nothing_else_is_random(
    gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value once and unchanged; with the same values a run repeats to the last byte, and with others it does not."""
    law = LAWS[gaussian]
    original = getattr(OpendpNoise, law)
    drawn: list[NDArray[np.int64]] = []

    def watched(self: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn.append(original(self, counts, scale))
        return drawn[-1]

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("something else than OpenDP was asked for random numbers")

    with monkeypatch.context() as patch:
        patch.setattr(OpendpNoise, law, watched)
        patch.setattr(OpendpNoise, LAWS[not gaussian], refuse)
        for generator in ("os.urandom", "numpy.random.default_rng", "random.random"):
            patch.setattr(generator, refuse)
        first = release(gaussian=gaussian)
        assert [values.tolist() for values in first.noisy] == [values.tolist() for values in drawn]
        assert len(drawn) == len(first.plan.sizes)
        assert first.privacy["private"]
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, law, lambda self, counts, scale: next(left))
        again = release(gaussian=gaussian)
        assert next(left, None) is None
    assert text_of(again) == text_of(first)
    # Five releases with one and the same noise on 26 counts: for either budget less likely than 1e-6.
    assert {text_of(release(gaussian=gaussian)) for _ in range(5)} != {text_of(first)}


class OtherNoise(OpendpNoise):
    """A kind of OpenDP's noise, and so perhaps of other noise."""


class SeededNoise(OpendpNoise):
    """Noise of the right law from a seed."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        ratio = np.exp(-1 / scale)
        ones, others = (self.generator.geometric(1 - ratio, counts.size) for _ in range(2))
        return np.asarray(counts + ones - others)


UNTRUSTED: dict[str, Callable[[], Noise]] = {
    "seeded noise": lambda: SeededNoise(1),
    "scripted noise": lambda: ScriptedNoise([4, 2]),
    "noise that calls itself private": lambda: ClaimingNoise([4, 2]),
    "another kind of OpenDP's noise": OtherNoise,
}


@pytest.mark.parametrize("source", UNTRUSTED)
def test_noise_from_anywhere_else_marks_the_release(source: str) -> None:
    privacy = release(UNTRUSTED[source]()).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    assert set(privacy["epsilon_by_accountant"].values()) - {privacy["epsilon_by_accountant"]["delta"]} == {
        None
    }
    marks = [charge for charge in privacy["charges"] if charge["kind"] == ChargeKind.NOT_PRIVATE.value]
    assert [mark["mechanism"] for mark in marks] == [NOT_PRIVATE_DRAWS]


def test_opendps_own_noise_is_trusted_where_it_is_given() -> None:
    privacy = release(OpendpNoise()).privacy
    assert privacy["private"] is True
    assert privacy["epsilon"] == pytest.approx(1.0)


FILES = {file.path: file for file in source_files()}
SUMMARIES = {path: file for path, file in FILES.items() if path.startswith("dpopt/synopses/summaries/")}


def called(tree: ast.AST) -> set[str]:
    """Return the names of what a file, or a part of it, calls."""
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_noisy_counts_of_conjunctions_are_constructed_where_those_of_tables_are() -> None:
    curator = FILES["dpopt/private/curators/conjunction_curator.py"].tree
    assert constructions(curator) == []
    assert "with_noise" in called(curator)


def test_a_summary_is_made_by_its_driver_or_read_from_a_file() -> None:
    """And the curator is held by the driver alone."""
    made = {path for path, file in FILES.items() if "Summary" in called(file.tree)}
    assert made == {f"dpopt/synopses/summaries/{name}.py" for name in ("release_summary", "summary")}
    functions = SUMMARIES["dpopt/synopses/summaries/summary.py"].tree.body
    assert [node.name for node in functions if hasattr(node, "name") and "Summary" in called(node)] == [
        "_summary"
    ]
    held = {path for path, file in FILES.items() if "ConjunctionCurator" in called(file.tree)}
    assert held == {"dpopt/synopses/summaries/release_summary.py"}


def test_the_driver_takes_values_out_of_what_was_measured_only() -> None:
    tree = SUMMARIES["dpopt/synopses/summaries/release_summary.py"].tree
    taken = [
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "values"
    ]
    assert taken == ["curator.measure(one)"]


def test_nothing_but_driver_and_plan_names_the_private_side() -> None:
    """The plan takes from there what a measurement is, and no more."""
    named = {
        path: {
            alias.name
            for node in ast.walk(file.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpopt.private")
            for alias in node.names
        }
        for path, file in SUMMARIES.items()
    }
    driver = named.pop("dpopt/synopses/summaries/release_summary.py")
    assert "ConjunctionCurator" in driver
    assert {name for names in named.values() for name in names} == {"ConjunctionCounts"}
