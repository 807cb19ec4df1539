"""With the noisy values scripted, whole releases of the generic sanitizer do not tell two tables apart.

Neither by log records, warnings, what is printed, the progress that is told, errors, nor by a byte of the files that are
written; nor by how often noise is drawn, for how many coefficients, of which distribution and scale.
"""

from __future__ import annotations

import logging
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
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan, plan_sanitizer
from tests.boundary.test_bin_noninterference import WatchedNoise
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.exact_sanitizer_loss import FAMILIES
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, dataset_of, universe

logging.getLogger("numba").setLevel(logging.WARNING)

RECORDS = 5
BUDGETS = {
    True: Budget(None, 1e-9, 0.7, Accountant.ZCDP),
    False: Budget(1.5, 0.0, None, Accountant.PURE),
}
Seen = tuple[list[str], dict[str, bytes]]
KINDS = ("mixed, sets", "mixed, positive, powers", "table", "function, huge", "function, not a number")


@lru_cache
def plan_of(
    kind: str, relation: NeighbouringRelation = REPLACE, *, gaussian: bool = False, asked: bool = False
) -> SanitizerPlan:
    """Return a plan; with `asked` a function is asked for the records of the table, not for all that can occur."""
    family = FAMILIES[kind]
    with mock.patch("dpopt.queries.polynomial_families.MOST_RECORDS", 1 if asked else 2**16):
        return plan_sanitizer(family, BUDGETS[gaussian], size=RECORDS, relation=relation)


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: SanitizerPlan
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
                released = release_sanitizer(
                    dataset_of(self.plan.family.schema, table), self.plan, noise=noise, progress=watcher
                )
                released.write(folder / "released.npz")
                watcher.seen += [repr(released), repr(released.answer([0])), repr(released.answer([]))]
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    plan = plan_of(
        draw(st.sampled_from(KINDS)),
        draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        asked=draw(st.booleans()),
    )
    return Public(plan, tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))))


def tables(public: Public) -> st.SearchStrategy[Table]:
    """Return tables of the public number of records, or of any under add-remove."""
    rows = st.just(RECORDS) if public.plan.relation is REPLACE else st.integers(1, 9)
    record = st.sampled_from(universe(public.plan.family.schema))
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
    assert set(files) == {"released.npz"}
    assert sum(text.startswith("draw ") for text in seen) == 1


ONE: Table = ((0, 0), (1, 2), (1, 2), (0, 1), (1, 0))
TWO: Table = ((1, 1),) * 5
PLANS: dict[str, SanitizerPlan] = {
    "replace": plan_of("mixed, sets"),
    "add-remove": plan_of("mixed, positive, powers", ADD_REMOVE, gaussian=True),
    "function": plan_of("function, huge", ADD_REMOVE, asked=True),
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
    assert usual[1]["released.npz"] != both(kind, (4, 2, 2))[0][1]["released.npz"]


Leak = Callable[[CountingCurator, int], object]


def leak_into_a_log(curator: CountingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("sums %s", secret)


def leak_into_a_warning(curator: CountingCurator, secret: int) -> None:
    warnings.warn(f"sums {secret}", stacklevel=1)


def leak_into_a_print(curator: CountingCurator, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: CountingCurator, secret: int) -> None:
    if secret == SECRET:
        raise PlanError("stopped early, since of the sums one is this")


def leak_into_the_number_of_draws(curator: CountingCurator, secret: int) -> None:
    for _ in range(abs(secret) % 7):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


def leak_into_the_progress(curator: CountingCurator, secret: int) -> None:
    assert curator._progress is not None
    curator._progress(1 / (abs(secret) + 2))


SECRET = 4
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
    """The number of records, or what else is told of the sums, in any of these places, is noticed."""
    usual = CountingCurator.measure

    def leaking(curator: Any, measurement: Any) -> Any:
        columns = curator._dataset._records._columns
        leak(curator, int((columns[1] == 0).sum() + 2 * (columns[0] == 0).sum()) - 2)  # 4 and -2
        return usual(curator, measurement)

    with mock.patch.object(CountingCurator, "measure", leaking):
        one, two = both(kind)
    assert one != two


@EACH
def test_a_noisy_value_that_depends_on_the_table_is_seen(kind: str) -> None:
    def leaky(self: WatchedNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.asarray(np.resize(self._values, counts.shape) + counts % 1000)

    with (
        mock.patch.object(WatchedNoise, "discrete_laplace", leaky),
        mock.patch.object(WatchedNoise, "discrete_gaussian", leaky),
    ):
        one, two = both(kind)
    assert one[1]["released.npz"] != two[1]["released.npz"]
