"""With the noisy values scripted, whole releases of halfspaces do not tell two tables apart.

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
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.synopses.halfspaces.estimators import Estimator
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES, HalfspacePlan
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from tests.boundary.test_bin_noninterference import WatchedNoise
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.cli.command_line import call
from tests.exact_counts_loss import ROWS
from tests.exact_halfspace_loss import UNIVERSE, Table, points_of, tiny_plan
from tests.tiny_runs import ADD_REMOVE, REPLACE

logging.getLogger("numba").setLevel(logging.WARNING)

Seen = tuple[list[str], dict[str, bytes]]
EACH = pytest.mark.parametrize("measured", [SIDES, ARCS])
ONE, TWO = UNIVERSE[:ROWS], UNIVERSE[ROWS : 2 * ROWS]


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: HalfspacePlan
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
                released = release_halfspaces(points_of(table), self.plan, noise=noise, progress=watcher)
                released.write(folder / "halfspaces.npz")
                watcher.seen.append(repr(released))
                watcher.seen += [repr(released.answer("1,2", estimate=one)) for one in Estimator]
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    plan = tiny_plan(
        draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        measured=draw(st.sampled_from([SIDES, ARCS])),
    )
    return Public(plan, tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))))


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_two_tables_cannot_be_told_apart(data: st.DataObject) -> None:
    public = data.draw(publics())
    rows = st.just(ROWS) if public.plan.relation is REPLACE else st.integers(1, 9)
    tables = rows.flatmap(lambda n: st.lists(st.sampled_from(UNIVERSE), min_size=n, max_size=n).map(tuple))
    assert public.run(data.draw(tables)) == public.run(data.draw(tables))


def both(measured: str, noise: tuple[int, ...] = (4, 1, 2)) -> tuple[Seen, Seen]:
    """Release two tables by one plan; under add-remove they have different numbers of records."""
    public = Public(tiny_plan(ADD_REMOVE, gaussian=False, measured=measured), noise)
    return public.run(ONE), public.run((*TWO, TWO[0]))


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(measured: str) -> None:
    one, two = both(measured)
    assert one == two
    assert one[1]["halfspaces.npz"] != both(measured, (4, 2, 2))[0][1]["halfspaces.npz"]


Leak = Callable[[CountingCurator, int], object]


def leak_into_a_log(curator: CountingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("records %s", secret)


def leak_into_a_warning(curator: CountingCurator, secret: int) -> None:
    warnings.warn(f"records {secret}", stacklevel=1)


def leak_into_a_print(curator: CountingCurator, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: CountingCurator, secret: int) -> None:
    if secret == len(ONE):
        raise PlanError("stopped early, since there are three records")


def leak_into_the_number_of_draws(curator: CountingCurator, secret: int) -> None:
    for _ in range(secret):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


LEAKS: list[Leak] = [
    leak_into_a_log,
    leak_into_a_warning,
    leak_into_a_print,
    leak_into_an_error,
    leak_into_the_number_of_draws,
]


@EACH
@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Leak, measured: str) -> None:
    """The number of records, in any of these places, is noticed."""
    usual = CountingCurator.measure

    def leaking(curator: CountingCurator, measurement: Any) -> Any:
        leak(curator, curator._dataset._rows)
        return usual(curator, measurement)

    seen: list[object] = []
    with mock.patch.object(CountingCurator, "measure", leaking):
        for table in (ONE, (*TWO, TWO[0])):
            try:
                seen.append(
                    Public(tiny_plan(ADD_REMOVE, gaussian=False, measured=measured), (4, 1)).run(table)
                )
            except PlanError as error:
                seen.append(str(error))
    assert seen[0] != seen[1]


SECONDS = re.compile(r"\d+\.\d\d s")  # how long a stage took


@pytest.mark.parametrize("budget", [("--epsilon", 1), ("--rho", 0.2)])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_released_file(
    relation: NeighbouringRelation, budget: tuple[object, ...], tmp_path: Path
) -> None:
    """The whole command, and what it answers; under add-remove with different numbers of records."""
    more = ["--n0", 5] if relation is ADD_REMOVE else []
    seen = []
    for number, lines in enumerate((["1,0,2", "3,4,5", "1,1,1"], ["-1,0,0", "0,-2,1", "5,5,-1"])):
        rows = [*lines, "1,2,2"] if number and relation is ADD_REMOVE else lines
        folder = tmp_path / str(number)
        folder.mkdir()
        table, out, watcher = folder / "input.csv", folder / "halfspaces.npz", Watcher()
        table.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
        noise = WatchedNoise([4, 3, 9, 2], watcher)
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            watched(watcher),
        ):
            results = [
                call("halfspaces", "release", table, "--normalise", "--margin", 0.4, "--projected-to", 2,
                     "--projections", 4, "--directions", 4, *budget, "--neighbours", relation.value, *more, "-o", out),
                call("halfspaces", "answer", out, "--query", "1,2,3"),
            ]  # fmt: skip
        table.unlink()
        texts = [(result.exit_code, result.stdout, SECONDS.sub("some", result.stderr)) for result in results]
        assert [code for code, *_ in texts] == [0, 0], texts
        seen.append(
            ([str(part).replace(str(folder), "") for part in [*texts, *watcher.seen]], contents(folder))
        )
    assert seen[0] == seen[1]
    assert any(text.startswith("draw ") for text in seen[0][0])
    assert set(seen[0][1]) == {"halfspaces.npz"}
