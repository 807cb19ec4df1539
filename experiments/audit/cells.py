"""One cell of the audit: a mechanism, a relation and an epsilon, real or with planted noise, from two files to a bound."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from dpopt.accounting.conversions import zcdp_epsilon
from experiments.audit.bounds import Claim, Score, likelihood_score, lower_bound, power
from experiments.audit.files import ADD_REMOVE, FilePair
from experiments.audit.hostile import HOSTILE
from experiments.audit.mechanisms import MECHANISMS, Mechanism, remembered_plans
from experiments.audit.planted import no_noise, noise_times
from experiments.audit.releases import DELTA, Asked, Released

EPSILONS = (1.0, 0.1, 4.0)
HALF = 0.5
"""What all noise is multiplied by where it is planted."""
REACH_OF_RHO = 1.5
"""Under zCDP the two files are so many records apart that their rho is about this."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A mechanism, relation and epsilon; noise is multiplied by `factor`."""

    mechanism: str
    relation: str
    epsilon: float
    factor: float = 1.0


def all_cells(epsilons: tuple[float, ...] = EPSILONS, *, planted: bool = False) -> list[Cell]:
    """Return every mechanism at every epsilon under add-remove, and under replace-one, where it is audited, at 1."""
    return [
        Cell(mechanism.name, relation, epsilon, HALF if planted else 1.0)
        for epsilon in epsilons
        for mechanism in MECHANISMS
        for relation in mechanism.relations
        if relation == ADD_REMOVE or epsilon == 1.0
    ]


def audit(cell: Cell, runs: int, alpha: float) -> dict[str, Any]:
    """Return what so many runs on each of two files show of a cell, but for alpha."""
    started = perf_counter()
    mechanism = named(cell.mechanism)
    with folder_in_memory() as folder, remembered_plans():
        asked = Asked(cell.epsilon, cell.relation, folder, mechanism.gaussian)
        first = mechanism.canary.write(folder, cell.relation, 1)
        apart, claim = claimed(mechanism, mechanism.release(first.one, asked))
        pair = mechanism.canary.write(folder, cell.relation, apart)
        score = known_score(mechanism, pair, asked)
        with nullcontext() if cell.factor == 1.0 else noise_times(cell.factor):
            one, other = ([mechanism.release(path, asked).seen for _ in range(runs)] for path in (pair.one, pair.other))
    found = lower_bound(one, other, claim, alpha, score)
    return {
        "mechanism": cell.mechanism,
        "relation": cell.relation,
        "epsilon": cell.epsilon,
        "factor": cell.factor,
        "unit": "epsilon" if claim.rho is None else "rho",
        "apart": apart,
        "claimed": claim.parameter,
        "lower": found.lower,
        "ratio": found.lower / claim.parameter,
        "epsilon_claimed": claim.epsilon,
        "epsilon_lower": found.epsilon,
        "delta": claim.delta,
        "violated": bool(found.lower > claim.parameter or found.epsilon > claim.epsilon),
        "runs": runs,
        "counted": found.runs,
        "seen": [found.on_one, found.on_other],
        "score": "learned" if score is None else "likelihood",
        "power": power(found, claim, alpha),
        "seconds": round(perf_counter() - started, 1),
    }


def known_score(mechanism: Mechanism, pair: FilePair, asked: Asked) -> Score | None:
    """Return the likelihood ratio of what is released, where it is counts with independent noise and nothing else."""
    with no_noise() as mine:
        one = mechanism.release(pair.one, asked).seen
    with no_noise() as theirs:
        other = mechanism.release(pair.other, asked).seen
    if (one.path, other.path) != ((), ()) or mine.scales != theirs.scales:
        return None
    if (list(one.values), list(other.values)) != (mine.counts, theirs.counts):
        return None
    return likelihood_score(mine.counts, theirs.counts, mine.scales, gaussian=asked.gaussian)


def claimed(mechanism: Mechanism, released: Released) -> tuple[int, Claim]:
    """Return how many records apart the two files are to be, and what the release then claims of them."""
    privacy = released.privacy
    if mechanism.pure:
        epsilon = privacy["epsilon_by_accountant"]["pure"]
        apart = max(1, round(mechanism.reach / epsilon))
        return apart, Claim(apart * epsilon)
    rho = privacy["rho"]
    apart = max(1, round((REACH_OF_RHO / rho) ** 0.5))
    return apart, Claim(zcdp_epsilon(apart**2 * rho, DELTA), DELTA, apart**2 * rho)


def named(name: str) -> Mechanism:
    """Return the mechanism of a name."""
    (found,) = (mechanism for mechanism in MECHANISMS if mechanism.name == name)
    return found


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a temporary folder, in memory where the system has such a place: each release waits for its disk."""
    memory = Path("/dev/shm")  # noqa: S108  only made-up tables are written there
    folder = Path(tempfile.mkdtemp(prefix="dpopt-audit-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def audit_hostile(number: int, runs: int, alpha: float) -> dict[str, Any]:
    """Return what so many runs on each of a hostile pair of files show, at epsilon 1."""
    hostile = HOSTILE[number]
    claim = Claim(1.0)
    with folder_in_memory() as folder, remembered_plans():
        pair = hostile.canary.write(folder, hostile.relation, 1)
        one, other = ([hostile.seen(path, claim.epsilon) for _ in range(runs)] for path in (pair.one, pair.other))
    found = lower_bound(one, other, claim, alpha)
    return {
        "relation": hostile.relation,
        "claimed": claim.epsilon,
        "lower": found.lower,
        "violated": found.lower > claim.epsilon,
        "runs": runs,
        "counted": found.runs,
        "seen": [found.on_one, found.on_other],
        "refused": [sum(run.path == ("refused",) for run in side) for side in (one, other)],
    }
