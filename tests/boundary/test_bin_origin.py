"""Noisy counts of histograms and degrees come from OpenDP's samplers through the curator, and from nowhere else."""

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
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.closed import Closed
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from tests.boundary.test_origin import constructions
from tests.private.test_trust import ClaimingNoise
from tests.source_code import source_files

COUNTS = np.array([0, 3, 1, 0, 9, 2, 2, 0, 0, 5], dtype=np.int64)
DEGREES = np.array([3, 1, 1, 1, 2, 2, 2], dtype=np.int64)
BUDGETS = {
    True: Budget(None, 1e-9, 0.5, Accountant.ZCDP),
    False: Budget(1.0, 0.0, None, Accountant.PURE),
}
Released = Histogram | SortedCountsRelease


def histogram(noise: Noise | None = None, *, gaussian: bool = False) -> Released:
    plan = plan_histogram(COUNTS.size, BUDGETS[gaussian], relation=NeighbouringRelation.ADD_REMOVE)
    return release_histogram(BinCounts.from_counts(COUNTS), plan, noise=noise)


def degrees(noise: Noise | None = None, *, gaussian: bool = False) -> Released:
    plan = plan_sorted(None, BUDGETS[gaussian], graph=True)
    held = BinCounts.of_degrees(DEGREES, int(DEGREES.sum()) // 2)
    return release_sorted(held, plan, noise=noise)


Release = Callable[..., Released]
EACH = pytest.mark.parametrize("release", [histogram, degrees])
LAWS = {True: "discrete_gaussian", False: "discrete_laplace"}


def noisy_of(released: Released) -> list[list[int]]:
    """Return the noisy values that a release keeps; the number of nodes is kept as the length of the degrees."""
    if isinstance(released, Histogram):
        return [values.tolist() for values in released.noisy]
    return [[released.noisy.size], released.noisy.tolist()]


@pytest.mark.parametrize("gaussian", [False, True])
@EACH
def test_what_is_released_is_what_opendp_drew_and_nothing_else_is_random(
    release: Release, gaussian: bool, monkeypatch: pytest.MonkeyPatch
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
        values = [part.tolist() for part in drawn]
        if isinstance(first, SortedCountsRelease):
            values[0] = [max(values[0][0], 2)]
        assert noisy_of(first) == values
        assert first.privacy["private"]
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, law, lambda self, counts, scale: next(left))
        again = release(gaussian=gaussian)
        assert next(left, None) is None
    assert json.dumps(again.to_json()) == json.dumps(first.to_json())
    # Five releases with one and the same noise: for either budget less likely than 1e-6.
    others = [json.dumps(release(gaussian=gaussian).to_json()) for _ in range(5)]
    assert set(others) != {json.dumps(first.to_json())}


class OtherNoise(OpendpNoise):
    """A kind of OpenDP's noise, and so perhaps of other noise."""


UNTRUSTED: dict[str, Callable[[], Noise]] = {
    "scripted noise": lambda: ScriptedNoise([4, 2]),
    "noise that calls itself private": lambda: ClaimingNoise([4, 2]),
    "another kind of OpenDP's noise": OtherNoise,
}


@EACH
@pytest.mark.parametrize("source", UNTRUSTED)
def test_noise_from_anywhere_else_marks_the_release(source: str, release: Release) -> None:
    privacy = release(UNTRUSTED[source]()).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    assert set(privacy["epsilon_by_accountant"].values()) - {privacy["epsilon_by_accountant"]["delta"]} == {
        None
    }
    marks = [charge for charge in privacy["charges"] if charge["kind"] == ChargeKind.NOT_PRIVATE.value]
    assert [mark["mechanism"] for mark in marks] == [NOT_PRIVATE_DRAWS]


@EACH
def test_opendps_own_noise_is_trusted_where_it_is_given(release: Release) -> None:
    privacy = release(OpendpNoise()).privacy
    assert privacy["private"] is True
    assert privacy["epsilon"] == pytest.approx(1.0)


FILES = {file.path: file for file in source_files()}
HISTOGRAMS = {path: file for path, file in FILES.items() if path.startswith("dpopt/synopses/histograms/")}


def called(tree: ast.Module) -> set[str]:
    """Return the names of what a file calls."""
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_noisy_counts_of_bins_are_constructed_where_those_of_tables_are() -> None:
    """In one place, after the charge that they carry; the curator of bins and the drivers construct none of their own."""
    places = {path for path, file in FILES.items() if file.room == "private" and constructions(file.tree)}
    assert "dpopt/private/measurements/noisy_counts.py" in places
    assert not places & {path for path in FILES if path.startswith("dpopt/private/bin_")}
    assert "with_noise" in called(FILES["dpopt/private/curators/bin_curator.py"].tree)


DRIVERS = [path for path, file in HISTOGRAMS.items() if "BinCurator" in called(file.tree)]
RELEASES = {
    node.name
    for file in HISTOGRAMS.values()
    for node in ast.walk(file.tree)
    if isinstance(node, ast.ClassDef)
    if any(isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "privacy" for line in node.body)
}


def test_a_release_is_made_by_its_driver_or_read_from_a_file() -> None:
    """Each type that states what it cost is constructed in one file, which holds a curator."""
    assert {"Histogram", "SortedCountsRelease"} <= RELEASES
    made = {path: called(file.tree) & RELEASES for path, file in FILES.items()}
    assert {path for path, kinds in made.items() if kinds} == set(DRIVERS)
    assert sorted(kind for kinds in made.values() for kind in kinds) == sorted(RELEASES)


@pytest.mark.parametrize("path", DRIVERS)
def test_a_driver_takes_values_out_of_what_was_measured_only(path: str) -> None:
    """Each `.values` in a driver is that of a `curator.measure(...)`."""
    tree = FILES[path].tree
    measured = {
        ast.unparse(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("curator.measure(")
    }
    taken = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "values"
    ]
    texts = [ast.unparse(value) for value in taken]
    assert texts
    assert [text for text in texts if not text.startswith("curator.measure(") and text not in measured] == []


def test_no_holder_of_records_takes_a_refusal_back() -> None:
    """What `Closed` refuses, no type below it allows again: counts in bins as little as tables."""

    def below(kind: type) -> list[type]:
        children: list[type] = kind.__subclasses__()
        return [one for child in children for one in (child, *below(child))]

    refusals = {name for name in vars(Closed) if name.startswith("__") and callable(getattr(Closed, name))}
    refusals -= {"__init__", "__new__", "__class__"}
    holders = below(Closed)
    assert BinCounts in holders
    assert {"__array__", "__iter__", "__len__", "__getitem__", "__reduce__", "__repr__"} <= refusals
    for holder in holders:
        assert not refusals & set(vars(holder)), holder.__name__
