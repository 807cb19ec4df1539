"""Noisy counts of every family come from OpenDP's samplers through the curator, and from nowhere else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import ChargeKind
from dpopt.private.curators.counting_curator import MEASUREMENTS
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.closed import Closed
from dpopt.synopses.any_synopsis import KINDS as SYNOPSES
from dpopt.synopses.synopsis import PlannedSynopsis, Synopsis
from tests.boundary.test_origin import constructions
from tests.boundary.test_synopsis_noninterference import KINDS
from tests.exact_counts_loss import ROWS
from tests.exact_halfspace_loss import UNIVERSE
from tests.private.test_dataset import ClaimingNoise
from tests.scripted import ScriptedNoise
from tests.source_code import source_files
from tests.tiny_runs import ADD_REMOVE

LAWS = {True: "discrete_gaussian", False: "discrete_laplace"}
BINS, DEGREES, RECORDS = [0, 3, 1, 0, 9, 2], [3, 1, 1, 1, 2, 2, 2], ((0, 1, 1), (1, 1, 0)) * 3
SEARCHED: dict[str, tuple[str, Any, Any]] = {
    "intervals": ("intervals", "intervals", BINS),
    "boxes": ("intervals", "boxes", BINS),
}
RELEASES: dict[str, tuple[str, Any, Any]] = {
    "histogram": ("bins", ("histogram", "all"), BINS),
    "degrees": ("bins", ("degrees", None), DEGREES),
    "summary": ("conjunctions", ("all", 3), RECORDS),
    "lists": ("lists", "lists", [(((0, True),), (0, 1))] * 5),
    "halfspaces": ("halfspaces", None, UNIVERSE[:ROWS]),
    "sanitizer": ("polynomials", ("mixed, sets", False), ((0, 1), (1, 1)) * 3),
    **SEARCHED,
}
"""By name a kind of synopsis, what its plan varies in, and a table."""


def release(name: str, noise: Noise | None, *, gaussian: bool) -> Any:
    """Release a table under add-remove."""
    kind, variant, table = RELEASES[name]
    plan = KINDS[kind].plan(ADD_REMOVE, gaussian, variant)
    # Scales of more than 10,000 units: the same values twice are less likely than 1e-6.
    assert name != "lists" or min(plan.scales) > 1e4
    return KINDS[kind].release(plan, table, noise=noise)[0]


EACH = pytest.mark.parametrize("kind", RELEASES)


def noisy_of(kind: str, released: Any) -> list[list[int]]:
    """Return the noisy values that a release keeps; the number of nodes is kept as the length of the degrees."""
    if kind == "degrees":
        return [[released.size], released.noisy.tolist()]
    if kind == "sanitizer":
        return [released.noisy.tolist()]
    return [values.tolist() for values in released.noisy]


def text_of(kind: str, released: Any) -> str:
    made = released.to_json() if kind in SEARCHED else noisy_of(kind, released)
    return json.dumps([released.privacy, made])


@pytest.mark.parametrize("gaussian", [False, True])
@EACH
def test_what_is_released_is_what_opendp_drew_and_nothing_else_is_random(
    kind: str, gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value once and unchanged; with the same values a run repeats to the last byte, and with others it does not."""
    distribution = LAWS[gaussian]
    original = getattr(OpendpNoise, distribution)
    drawn: list[NDArray[np.int64]] = []

    def watched(self: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn.append(original(self, counts, scale))
        return drawn[-1]

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("something else than OpenDP was asked for random numbers")

    release(kind, None, gaussian=gaussian)  # kernels are compiled now; a compiler names its files at random
    with monkeypatch.context() as patch:
        patch.setattr(OpendpNoise, distribution, watched)
        patch.setattr(OpendpNoise, LAWS[not gaussian], refuse)
        for generator in ("os.urandom", "numpy.random.default_rng", "random.random"):
            patch.setattr(generator, refuse)
        first = release(kind, None, gaussian=gaussian)
        values = [part.tolist() for part in drawn]
        if kind == "degrees":
            values[0] = [max(values[0][0], 2)]
        if kind in SEARCHED:  # what searches drew is not kept; what was measured last is
            values = values[len(values) - len(first.noisy) :]
        assert noisy_of(kind, first) == values
        assert first.privacy["private"]
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, distribution, lambda self, counts, scale: next(left))
        again = release(kind, None, gaussian=gaussian)
        assert next(left, None) is None
    assert text_of(kind, again) == text_of(kind, first)
    if kind not in SEARCHED:  # ten releases with one and the same noise: less likely than 1e-6
        others = {text_of(kind, release(kind, None, gaussian=gaussian)) for _ in range(10)}
        assert others != {text_of(kind, first)}


class OtherNoise(OpendpNoise):
    """A kind of OpenDP's noise, and so perhaps of other noise."""


class SeededNoise(OpendpNoise):
    """Noise of the right distribution from a seed."""

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
@EACH
def test_noise_from_anywhere_else_marks_the_release(kind: str, source: str) -> None:
    privacy = release(kind, UNTRUSTED[source](), gaussian=False).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    by_accountant = privacy["epsilon_by_accountant"]
    assert set(by_accountant.values()) - {by_accountant["delta"]} == {None}
    marks = [charge for charge in privacy["charges"] if charge["kind"] == ChargeKind.NOT_PRIVATE.value]
    assert [mark["mechanism"] for mark in marks] == [NOT_PRIVATE_DRAWS]
    json.dumps(privacy)


@EACH
def test_opendps_own_noise_is_trusted_where_it_is_given(kind: str) -> None:
    privacy = release(kind, OpendpNoise(), gaussian=False).privacy
    assert privacy["private"] is True
    assert kind == "halfspaces" or privacy["epsilon"] == pytest.approx(1.5)


FILES = {file.path: file for file in source_files()}


def calls(tree: ast.AST) -> list[ast.Call]:
    """Return all calls in a file, or in a part of it."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


@cache
def called(tree: ast.AST) -> set[str]:
    """Return the names of what a file, or a part of it, calls."""
    return {ast.unparse(call.func) for call in calls(tree)}


def callers(name: str) -> set[str]:
    return {path for path, file in FILES.items() if name in called(file.tree)}


@dataclass(frozen=True)
class Room:
    """Where a family is released: folder, driver, the release, what else is named of the private side."""

    folder: str
    driver: str
    released: str
    named: frozenset[str]

    @property
    def path(self) -> str:
        return f"dpopt/synopses/{self.folder}/{self.driver}.py"


ROOMS = [
    Room("summaries", "release_summary", "Summary", frozenset({"ConjunctionCounts"})),
    Room("decision_lists", "release_lists", "ListSummary", frozenset({"ListCounts"})),
    Room(
        "halfspaces",
        "release_halfspaces",
        "Halfspaces",
        frozenset({"HalfspaceMeasurement", "NumberOfRecords", "Sides"}),
    ),
    Room(
        "sanitizers",
        "release_sanitizer",
        "SanitizedPolynomial",
        frozenset({"CoefficientSums", "sensitivity_and_scale"}),
    ),
]
OF_EACH_ROOM = pytest.mark.parametrize("room", ROOMS, ids=[room.folder for room in ROOMS])


def test_noisy_counts_are_constructed_in_one_place() -> None:
    """After the charge that they carry: neither by curators nor by measurements."""
    places = {path for path, file in FILES.items() if file.room == "private" and constructions(file.tree)}
    measuring = {path for path in FILES if path.startswith("dpopt/private/measurements/")}
    assert places & measuring == {"dpopt/private/measurements/noisy_counts.py"}
    assert "dpopt/private/curators/counting_curator.py" not in places
    assert callers("NoisyAnswers") == {"dpopt/private/measurements/noisy_counts.py"}
    assert callers("with_noise") == {"dpopt/private/curators/door.py"}


def test_ends_of_searches_are_constructed_by_their_curator_alone() -> None:
    """And a release of intervals by its drivers, or read from a file."""
    folder = "dpopt/synopses/intervals/"
    assert callers("NoisySearch") == {"dpopt/private/curators/searching_curator.py"}
    assert not any(constructions(file.tree) for path, file in FILES.items() if path.startswith(folder))
    made = callers("PartitionRelease") - {f"{folder}partition_release.py"}
    assert made == {f"{folder}release_intervals.py"}


def test_every_type_of_measurement_is_reviewed() -> None:
    """A type with a charge and an exact value is measured if and only if it stands in the curator's table."""
    found = {
        node.name
        for path, file in FILES.items()
        if path.startswith("dpopt/private/measurements/")
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef)
        and {"charge", "exact"} <= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    }
    assert found == {kind.__name__ for kind in MEASUREMENTS}


@OF_EACH_ROOM
def test_a_release_is_made_by_its_driver_alone(room: Room) -> None:
    """Its class makes it besides, from a file."""
    assert callers(room.released) == {room.path}


@pytest.mark.parametrize(
    "kind", [*(load() for load in SYNOPSES.values()), PlannedSynopsis], ids=lambda kind: kind.__name__
)
def test_a_class_makes_its_release_of_the_parts_of_a_file_only(kind: type[Synopsis]) -> None:
    """Where it makes one, as `cls(...)`, that is in `of_parts`, whose noisy values are those that it was given.

    A class with a plan has it from `PlannedSynopsis`, and makes none of its own.
    """
    (tree,) = (
        node
        for node in ast.walk(FILES[f"{kind.__module__.replace('.', '/')}.py"].tree)
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    made = [call for call in calls(tree) if ast.unparse(call.func) in ("cls", "type(self)", "self.__class__")]
    if issubclass(kind, PlannedSynopsis) and kind is not PlannedSynopsis:
        assert "of_parts" not in vars(kind)
        assert made == []
        return
    (reading,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "of_parts")
    assert made == [call for call in calls(reading) if ast.unparse(call.func) == "cls"]
    (call,) = made
    given = {"noisy"} | {
        name.id
        for node in reading.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "noisy"
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name)
    }
    taken = [ast.unparse(value) for value in (*call.args, *(word.value for word in call.keywords))]
    assert len(given.intersection(taken)) == 1


def test_parts_are_put_together_where_files_are_read_and_nowhere_else() -> None:
    assert callers("cls.of_parts") == {"dpopt/synopses/synopsis.py"}
    found = {name for file in FILES.values() for name in called(file.tree) if name.endswith("of_parts")}
    assert found == {"cls.of_parts", "ParquetSource.of_parts"}  # the second has parts of another kind


def test_exact_counts_are_made_for_the_curator_alone() -> None:
    """Which has one maker for all synopses: for what is measured at once, for rounds, and for sorted counts of noisy length."""
    assert callers("CountingCurator") == {"dpopt/releases/measured_size.py", "dpopt/releases/run.py"}
    assert callers("PrefixCurator") == {PREFIXES}
    assert callers("RoundsCurator") == set()  # the one maker is told the kind
    searched = {"dpopt/synopses/intervals/release_intervals.py", "dpopt/synopses/optimal_count.py"}
    assert callers("run.curator") == {SORTED, ROUNDS} | searched
    assert callers("self.curator") == {PATH}
    assert callers("run.measured") == {*(room.path for room in ROOMS), *DRIVERS} - {SORTED}
    assert callers("coefficient_sums") == {"dpopt/private/measurements/sanitizer_sums.py"}
    exact = {path for path in FILES if any(name.endswith(".exact") for name in called(FILES[path].tree))}
    assert exact == {
        f"dpopt/private/curators/{name}.py" for name in ("counting_curator", "dualquery_curator", "prefix_curator")
    }


HISTOGRAMS = {path: file for path, file in FILES.items() if path.startswith("dpopt/synopses/histograms/")}
DRIVERS = [path for path, file in HISTOGRAMS.items() if "Reserved.of" in called(file.tree)]
PATH, SORTED = "dpopt/synopses/release.py", "dpopt/synopses/histograms/sorted/release_sorted.py"
ROUNDS = "dpopt/synopses/histograms/in_rounds.py"
PREFIXES = "dpopt/synopses/histograms/prefixes.py"
STATING = {
    node.name
    for file in HISTOGRAMS.values()
    for node in ast.walk(file.tree)
    if isinstance(node, ast.ClassDef)
    if any(isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "privacy" for line in node.body)
}


def test_a_release_of_bins_is_made_by_its_driver_alone() -> None:
    """Each type that states what it cost is constructed in one file, which reserves its plan."""
    assert {"Histogram", "SortedCountsRelease"} <= STATING
    made = {path: called(file.tree) & STATING for path, file in FILES.items()}
    assert {path for path, kinds in made.items() if kinds} == {*DRIVERS, PREFIXES}
    assert {"reserved_ledger", "curator.measure_to"} <= called(FILES[PREFIXES].tree)
    assert sorted(kind for kinds in made.values() for kind in kinds) == sorted(STATING)


@pytest.mark.parametrize("path", [PATH, *DRIVERS, *(room.path for room in ROOMS)])
def test_a_driver_takes_values_out_of_what_was_measured_only(path: str) -> None:
    """Each `.values` in a driver is that of a `curator.measure(...)`, or it has none and asks `run.measured(...)`."""
    tree = FILES[path].tree
    measured = {
        ast.unparse(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("curator.measure(")
    }
    taken = [
        ast.unparse(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "values"
    ]
    assert bool(taken) == (path in {PATH, SORTED})
    assert [text for text in taken if not text.startswith("curator.measure(") and text not in measured] == []


@OF_EACH_ROOM
def test_nothing_but_driver_and_plan_names_the_private_side(room: Room) -> None:
    """The plan takes from there what a measurement is, and no more; `declared_columns` the names of columns."""
    named = {
        path: {
            alias.name
            for node in ast.walk(file.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpopt.private")
            for alias in node.names
        }
        for path, file in FILES.items()
        if path.startswith(f"dpopt/synopses/{room.folder}/")
    }
    assert named.pop(room.path)
    columns = named.pop("dpopt/synopses/halfspaces/release_halfspaces.py", None)
    assert columns in (None, {"AnyTable", "TableReading", "columns_of_array", "open_table"})
    assert {name for names in named.values() for name in names} == room.named


def test_no_holder_of_records_takes_a_refusal_back() -> None:
    """What `Closed` refuses, no type below it allows again: counts in bins as little as tables."""

    def below(kind: type) -> list[type]:
        children: list[type] = kind.__subclasses__()
        return [one for child in children for one in (child, *below(child))]

    refusals = {name for name in vars(Closed) if name.startswith("__") and callable(getattr(Closed, name))}
    refusals -= {"__init__", "__new__", "__class__"}
    holders = below(Closed)
    assert {*MEASUREMENTS.values()} <= {Closed, *holders}
    assert {"__array__", "__iter__", "__len__", "__getitem__", "__reduce__", "__repr__"} <= refusals
    for holder in holders:
        assert not refusals & set(vars(holder)), holder.__name__
