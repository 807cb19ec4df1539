"""With the noisy values scripted, whole releases of summaries do not tell two tables apart.

Neither by log records, warnings, what is printed, the progress that is told, errors, nor by a byte of the files that are
written; nor by how often noise is drawn, for how many counts, of which distribution and scale.
"""

from __future__ import annotations

import logging
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from tests.boundary.test_bin_noninterference import WatchedNoise
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.cli.command_line import call
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, dataset_of, universe

logging.getLogger("numba").setLevel(logging.WARNING)

RECORDS = 5
SCHEMA = Schema(
    (
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("city", AttributeKind.CATEGORICAL, ("x", "y", "z")),
        Attribute("ill", AttributeKind.BOOLEAN),
    )
)
BUDGETS = {
    True: Budget(None, 1e-9, 0.7, Accountant.ZCDP),
    False: Budget(1.5, 0.0, None, Accountant.PURE),
}
Seen = tuple[list[str], dict[str, bytes]]
QUERIES = ("smoker=true,city=x", "city!=x,ill=true,smoker=true", "ill=true")


@lru_cache
def plan_of(
    relation: NeighbouringRelation = REPLACE, *, gaussian: bool = False, which: str = "all", width: int = 3
) -> SummaryPlan:
    return plan_summary(
        ChosenLiterals.of(SCHEMA, None, which), width, BUDGETS[gaussian], size=RECORDS, relation=relation
    )


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: SummaryPlan
    noise: tuple[int, ...]

    def run(self, table: Table) -> Seen:
        """Release a table; return what was seen, answers among it, and the files."""
        watcher = Watcher()
        noise = WatchedNoise(list(self.noise), watcher)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            # The statement is to be that of a private run, so that the claim of this noise is taken.
            with (
                watched(watcher),
                mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            ):
                released = release_summary(
                    dataset_of(SCHEMA, table), self.plan, noise=noise, progress=watcher
                )
                released.write(folder / "summary.npz")
                watcher.seen.append(repr(released))
                watcher.seen += [
                    repr(released.answer(query)) for query in QUERIES if query.count(",") < self.plan.width
                ]
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    plan = plan_of(
        draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        which=draw(st.sampled_from(["all", "positive"])),
        width=draw(st.sampled_from([2, 3])),
    )
    return Public(plan, tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))))


def tables(public: Public) -> st.SearchStrategy[Table]:
    """Return tables of the public number of records, or of any under add-remove."""
    rows = st.just(RECORDS) if public.plan.relation is REPLACE else st.integers(1, 9)
    record = st.sampled_from(universe(SCHEMA))
    return rows.flatmap(lambda n: st.lists(record, min_size=n, max_size=n)).map(tuple)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), public=publics())
def test_two_tables_cannot_be_told_apart_once_the_noisy_values_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two of the public size. Add-remove: any two of any sizes."""
    one, two = data.draw(tables(public)), data.draw(tables(public))
    seen, files = public.run(one)
    assert (seen, files) == public.run(two)
    assert set(files) == {"summary.npz"}
    assert sum(text.startswith("draw ") for text in seen) == len(public.plan.sizes)


ONE: Table = ((0, 0, 0), (1, 2, 1), (1, 2, 1), (0, 1, 0), (1, 0, 1))
TWO: Table = ((1, 1, 0),) * 5
PLANS: dict[str, SummaryPlan] = {
    "replace": plan_of(),
    "add-remove": plan_of(ADD_REMOVE, gaussian=True),
    "positive": plan_of(ADD_REMOVE, which="positive", width=2),
}
EACH = pytest.mark.parametrize("kind", PLANS)


def both(kind: str, noise: tuple[int, ...] = (3, 0, 1)) -> tuple[Seen, Seen]:
    """Release two tables by one plan; under add-remove the other has fewer records."""
    public = Public(PLANS[kind], noise)
    return public.run(ONE), public.run(TWO if public.plan.relation is REPLACE else TWO[:3])


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(kind: str) -> None:
    usual, again = both(kind)
    assert usual == again
    assert usual[1]["summary.npz"] != both(kind, (4, 2, 2))[0][1]["summary.npz"]


Leak = Callable[[CountingCurator, int], object]


def leak_into_a_log(curator: CountingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_a_warning(curator: CountingCurator, secret: int) -> None:
    warnings.warn(f"counts {secret}", stacklevel=1)


def leak_into_a_print(curator: CountingCurator, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: CountingCurator, secret: int) -> None:
    if secret == 3:
        raise PlanError("stopped early, since three records satisfy the first literal")


def leak_into_the_number_of_draws(curator: CountingCurator, secret: int) -> None:
    for _ in range(secret):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


def leak_into_the_progress(curator: CountingCurator, secret: int) -> None:
    assert curator._progress is not None
    curator._progress(1 / (secret + 2))


LEAKS: list[Leak] = [
    leak_into_a_log,
    leak_into_a_warning,
    leak_into_a_print,
    leak_into_an_error,
    leak_into_the_number_of_draws,
    leak_into_the_progress,
]


@EACH
@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Leak, kind: str) -> None:
    """How many records satisfy the last literal, in any of these places, is noticed."""
    usual = CountingCurator.measure

    def leaking(curator: Any, measurement: Any) -> Any:
        leak(curator, int(curator._dataset._counts[0][-1]))
        return usual(curator, measurement)

    with mock.patch.object(CountingCurator, "measure", leaking):
        one, two = both(kind)
    assert one != two


@EACH
def test_a_noisy_value_that_depends_on_the_table_is_seen(kind: str) -> None:
    def leaky(self: WatchedNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.asarray(np.resize(self._values, counts.shape) + (counts == counts.max()))

    with (
        mock.patch.object(WatchedNoise, "discrete_laplace", leaky),
        mock.patch.object(WatchedNoise, "discrete_gaussian", leaky),
    ):
        one, two = both(kind)
    assert one[1]["summary.npz"] != two[1]["summary.npz"]


SECONDS = re.compile(r"\d+\.\d\d s")  # how long a stage took
LINES = ["true,x,false", "false,z,true", "true,z,true"], ["false,y,false", "false,y,false", "true,y,false"]


@pytest.mark.parametrize("budget", [("--epsilon", 1), ("--epsilon", 1, "--delta", 1e-6), ("--rho", 0.2)])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_released_file(
    relation: NeighbouringRelation, budget: tuple[object, ...], tmp_path: Path
) -> None:
    """The whole command, and what it answers; under add-remove with different numbers of records."""
    SCHEMA.write(tmp_path / "schema.json")
    more = ["--n0", 5] if relation is ADD_REMOVE else []
    seen = []
    for number, lines in enumerate(LINES):
        rows = [*lines, "false,x,true"] if number and relation is ADD_REMOVE else lines
        folder = tmp_path / str(number)
        folder.mkdir()
        table, out, watcher = folder / "input.csv", folder / "summary.npz", Watcher()
        table.write_text("\n".join(["smoker,city,ill", *rows]) + "\n", encoding="utf-8")
        noise = WatchedNoise([4, 3, 9, 2], watcher)
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            watched(watcher),
        ):
            results = [
                call("summary", "release", table, "--schema", tmp_path / "schema.json", "--k", 3, *budget,
                     "--neighbours", relation.value, *more, "-o", out),
                call("summary", "answer", out, "--query", QUERIES[0], "--query", QUERIES[1]),
            ]  # fmt: skip
        table.unlink()
        texts = [(result.exit_code, result.stdout, SECONDS.sub("some", result.stderr)) for result in results]
        assert [code for code, *_ in texts] == [0, 0], texts
        seen.append(
            ([str(part).replace(str(folder), "") for part in [*texts, *watcher.seen]], contents(folder))
        )
    assert seen[0] == seen[1]
    assert any(text.startswith("draw ") for text in seen[0][0])
    assert set(seen[0][1]) == {"summary.npz"}
