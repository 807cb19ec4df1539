"""The audit's bounds are right, its pairs of files are neighbours, and it finds noise that was halved in the real code."""

from __future__ import annotations

from itertools import chain, combinations
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

from tests.source_code import ROOT

if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)

from experiments.audit.bounds import Claim, Found, at_least, at_most, power, rho_shown
from experiments.audit.cells import Cell, all_cells, audit
from experiments.audit.exact_distributions import laplace_cells
from experiments.audit.files import ADD_REMOVE, REPLACE, Canary
from experiments.audit.hostile import HOSTILE
from experiments.audit.mechanisms import MECHANISMS
from experiments.audit.worst_events import Pair, worst_event

ALPHA = 1e-3
CANARIES = [*(each.canary for each in MECHANISMS), *(each.canary for each in HOSTILE)]


@pytest.mark.parametrize(("runs", "share", "epsilon"), [(40, 0.5, 1.0), (200, 0.9, 0.1), (200, 0.3, 4.0)])
def test_a_kept_claim_is_called_broken_no_more_often_than_stated(runs: int, share: float, epsilon: float) -> None:
    """Exactly: over all counts of an event that reaches the claim."""
    claim, seen = Claim(epsilon), np.arange(runs + 1)
    p, q = at_least(seen, runs, ALPHA / 2), at_most(seen, runs, ALPHA / 2)
    broken = claim.shown(p[:, None], q[None, :]) > epsilon
    likely = np.outer(binom.pmf(seen, runs, share), binom.pmf(seen, runs, share * exp(-epsilon)))
    assert likely[broken].sum() <= ALPHA


def test_rho_that_an_event_of_two_gaussians_shows_is_below_theirs_and_near_it_where_they_are_far_apart() -> None:
    for distance, least in ((0.3, 0.6), (1.0, 0.6), (3.0, 0.6)):
        limits = np.linspace(-2, 2 + distance, 50)
        shown = rho_shown(norm.sf(limits - distance), norm.sf(limits))
        assert least * distance**2 / 2 < shown.max() <= distance**2 / 2


@pytest.mark.parametrize("canary", CANARIES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_two_files_are_as_many_lines_apart_as_they_say(canary: Canary, relation: str, tmp_path: Path) -> None:
    pair = canary.write(tmp_path, relation, 3)
    one, other = (path.read_text(encoding="utf-8").splitlines() for path in (pair.one, pair.other))
    kept = [canary.header, *canary.kept] if canary.header else list(canary.kept)
    assert len(one) == len(kept) + 3
    assert len(other) == len(kept) + (3 if relation == REPLACE else 0)
    assert [*one[: bool(canary.header)], *one[bool(canary.header) + 3 :]] == kept
    assert other[len(other) - len(canary.kept) :] == list(canary.kept)


def test_the_worst_event_is_that_of_trying_them_all() -> None:
    draws = np.random.default_rng(1)
    pairs = []
    for number in range(3):
        distributions = draws.random((2, 4)) + 0.05
        pairs.append(Pair(f"{number}", f"{number}'", *(distributions / distributions.sum(axis=1, keepdims=True))))
    for delta in (0.0, 0.05):
        found = worst_event(pairs, delta)
        events = list(chain.from_iterable(combinations(range(4), size) for size in range(1, 5)))
        ratios = [
            (one[list(event)].sum() - delta) / other[list(event)].sum()
            for pair in pairs
            for one, other in (
                (pair.distribution, pair.other_distribution),
                (pair.other_distribution, pair.distribution),
            )
            for event in events
        ]
        assert found.epsilon == pytest.approx(log(max(ratios)), abs=1e-5)
        event = list(found.event)
        assert found.pair.distribution[event].sum() == pytest.approx(found.probability)


def test_cells_of_noisy_counts_lose_nothing_of_the_worst_event() -> None:
    one, other = laplace_cells([3, 5, 7], [5, 5, 6], [2.0, 1.0, 4.0])
    assert one.sum() == pytest.approx(1)
    assert other.sum() == pytest.approx(1)
    assert worst_event([Pair("", "'", one, other)]).epsilon == pytest.approx(2 / 2 + 1 / 4)


def test_every_mechanism_is_audited_at_every_epsilon() -> None:
    cells = {(cell.mechanism, cell.epsilon) for cell in all_cells() if cell.relation == ADD_REMOVE}
    assert cells == {(each.name, epsilon) for each in MECHANISMS for epsilon in (0.1, 1.0, 4.0)}


@pytest.mark.statistics
def test_halved_noise_is_found_from_file_to_output_and_real_noise_is_not_accused() -> None:
    """300 runs on either file, 75 of them for the choice of the event; false-alarm rate 1e-3, power above .998."""
    cell = Cell("histogram, Laplace", ADD_REMOVE, 1.0)
    assert not audit(cell, 80, ALPHA)["violated"]
    assert audit(Cell(cell.mechanism, cell.relation, cell.epsilon, 0.5), 300, ALPHA)["violated"]


def test_the_power_of_that_test_is_as_stated() -> None:
    """By the distribution of discrete Laplace noise of half the scale, and the event "at least the larger count"."""
    likely, million = 1 / (1 + exp(-2)), 10**6
    event = Found(0.0, 0.0, round(million * likely), round(million * likely * exp(-2)), million, False)
    assert power(event, Claim(1.0), ALPHA, runs=225) > 0.998
