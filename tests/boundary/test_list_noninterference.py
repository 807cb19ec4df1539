"""With the noisy values scripted, releases of decision lists do not tell two tables apart; noise comes from OpenDP alone.

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

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.synopses.decision_lists.list_plan import ListPlan
from dpopt.synopses.decision_lists.list_planning import plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from tests.boundary.test_bin_noninterference import WatchedNoise
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.cli.command_line import call
from tests.tiny_lists import Row, family_of, private, rows_of
from tests.tiny_runs import ADD_REMOVE, REPLACE

logging.getLogger("numba").setLevel(logging.WARNING)

NUMBER = 5
BUDGETS = {
    True: Budget(None, 1e-9, 0.7, Accountant.ZCDP),
    False: Budget(1.5, 0.0, None, Accountant.PURE),
}
Seen = tuple[list[str], dict[str, bytes]]


@lru_cache
def plan_of(
    relation: NeighbouringRelation = REPLACE, *, gaussian: bool = False, kind: str = "lists"
) -> ListPlan:
    return plan_lists(family_of(3, 2, kind), BUDGETS[gaussian], size=NUMBER, relation=relation)


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: ListPlan
    noise: tuple[int, ...]

    def run(self, table: tuple[Row, ...]) -> Seen:
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
                released = release_lists(
                    private(self.plan.family, table), self.plan, noise=noise, progress=watcher
                )
                released.write(folder / "lists.npz")
                watcher.seen += [repr(released), repr(released.answer("010"))]
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    plan = plan_of(
        draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        kind=draw(st.sampled_from(["lists", "disjunctions"])),
    )
    return Public(plan, tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))))


def tables(public: Public) -> st.SearchStrategy[tuple[Row, ...]]:
    """Return tables of the public number of rows, or of any under add-remove."""
    number = st.just(NUMBER) if public.plan.relation is REPLACE else st.integers(1, 9)
    row = st.sampled_from(rows_of(public.plan.family))
    return number.flatmap(lambda n: st.lists(row, min_size=n, max_size=n)).map(tuple)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), public=publics())
def test_two_tables_cannot_be_told_apart_once_the_noisy_values_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two of the public size. Add-remove: any two of any sizes."""
    one, two = data.draw(tables(public)), data.draw(tables(public))
    seen, files = public.run(one)
    assert (seen, files) == public.run(two)
    assert set(files) == {"lists.npz"}
    assert sum(text.startswith("draw ") for text in seen) == len(public.plan.sizes)


ALL = rows_of(family_of(3, 2))
ONE, TWO = (ALL[3], ALL[77], ALL[77], ALL[140], ALL[9]), (ALL[200],) * 5
PLANS: dict[str, Callable[[], ListPlan]] = {
    "replace": plan_of,
    "add-remove": lambda: plan_of(ADD_REMOVE, gaussian=True),
}
EACH = pytest.mark.parametrize("kind", PLANS)


def both(kind: str, noise: tuple[int, ...] = (3, 0, 1)) -> tuple[Seen, Seen]:
    """Release two tables by one plan; under add-remove the other has fewer rows."""
    public = Public(PLANS[kind](), noise)
    return public.run(ONE), public.run(TWO if public.plan.relation is REPLACE else TWO[:3])


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(kind: str) -> None:
    usual, again = both(kind)
    assert usual == again
    assert usual[1]["lists.npz"] != both(kind, (4, 2, 2))[0][1]["lists.npz"]


Leak = Callable[[CountingCurator, int], object]


def leak_into_a_log(curator: CountingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_a_warning(curator: CountingCurator, secret: int) -> None:
    warnings.warn(f"counts {secret}", stacklevel=1)


def leak_into_a_print(curator: CountingCurator, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: CountingCurator, secret: int) -> None:
    if curator._dataset._rows != NUMBER or secret > 0:
        raise PlanError("stopped early, since the rows count more than nothing")


def leak_into_the_number_of_draws(curator: CountingCurator, secret: int) -> None:
    for _ in range(1 + (secret > 0)):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


def leak_into_the_progress(curator: CountingCurator, secret: int) -> None:
    assert curator._progress is not None
    curator._progress(1 / (abs(secret) + 2))


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
    """What all rows count in the empty conjunction, in any of these places, is noticed."""
    usual = CountingCurator.measure

    def leaking(curator: Any, measurement: Any) -> Any:
        curator._dataset.count()
        leak(curator, int(curator._dataset._counts[0][0]))
        return usual(curator, measurement)

    outcomes: list[Any] = []
    with mock.patch.object(CountingCurator, "measure", leaking):
        public = Public(PLANS[kind](), (3, 0, 1))
        for table in (((((0, True),), (0, 0)),) * 5, ((((0, True),), (1, 1)),) * 5):
            try:
                outcomes.append(public.run(table))
            except PlanError as problem:
                outcomes.append(str(problem))
    assert outcomes[0] != outcomes[1]


SECONDS = re.compile(r"\d+\.\d\d s")  # how long a stage took
LINES = ["x1:1, else:0", "!x2:0, x3:1, else:0", "else:1"], ["x3:0, else:1", "x1:1, x2:0, else:1", "else:0"]


@pytest.mark.parametrize("budget", [("--epsilon", 1), ("--epsilon", 1, "--delta", 1e-6), ("--rho", 0.2)])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_released_file(
    relation: NeighbouringRelation, budget: tuple[object, ...], tmp_path: Path
) -> None:
    """The whole command, and what it answers; under add-remove with different numbers of rows."""
    more = ["--n0", 5] if relation is ADD_REMOVE else []
    seen = []
    for number, lines in enumerate(LINES):
        rows = [*lines, "x1:0, else:0"] if number and relation is ADD_REMOVE else lines
        folder = tmp_path / str(number)
        folder.mkdir()
        table, out, watcher = folder / "rows.txt", folder / "lists.npz", Watcher()
        table.write_text("\n".join(rows) + "\n", encoding="utf-8")
        noise = WatchedNoise([4, 3, 9, 2], watcher)
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            watched(watcher),
        ):
            results = [
                call("lists", "release", table, "--variables", "x1,x2,x3", "--k", 2, *budget,
                     "--neighbours", relation.value, *more, "-o", out),
                call("lists", "answer", out, "--query", "010", "--query", "111"),
            ]  # fmt: skip
        table.unlink()
        texts = [(result.exit_code, result.stdout, SECONDS.sub("some", result.stderr)) for result in results]
        assert [code for code, *_ in texts] == [0, 0], texts
        seen.append(
            ([str(part).replace(str(folder), "") for part in [*texts, *watcher.seen]], contents(folder))
        )
    assert seen[0] == seen[1]
    assert any(text.startswith("draw ") for text in seen[0][0])
    assert set(seen[0][1]) == {"lists.npz"}
