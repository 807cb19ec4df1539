"""Exact distributions of what is released, over all small tables: from files where there are no draws but noisy counts.

Where a mechanism selects or searches, the distributions are those that the tests of the privacy boundary read off the real
draws (`tests/exact_*_loss.py`), multiplied by the distributions of the counts that are measured then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations, combinations_with_replacement, product
from math import exp
from typing import Any

import numpy as np

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.synopses.intervals.release_intervals import plan_partition
from experiments.audit.cells import folder_in_memory, named
from experiments.audit.files import ADD_REMOVE, FALSE, SIZE, TRUE
from experiments.audit.mechanisms import remembered_plans
from experiments.audit.planted import no_noise
from experiments.audit.releases import Asked
from experiments.audit.worst_events import Floats, Pair, worst_event
from tests.exact_counts_loss import ROWS, record_neighbours
from tests.exact_fem_loss import FemGame
from tests.exact_interval_loss import Path, SearchGame, interval_game, split_game
from tests.exact_loss import Game
from tests.exact_loss import neighbours as all_neighbours
from tests.exact_measuring_loss import pairs as table_neighbours
from tests.exact_net_loss import NetGame
from tests.tiny_multiplicative import CLAUSES, RoundGame, tiny_plan
from tests.tiny_runs import bits_schema, conjunctions


def laplace_cells(one: Sequence[int], other: Sequence[int], scales: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the distributions of noisy counts, cut where two tables' counts lie: in a cell the ratio is one number.

    Each count that differs is at most the smaller one, at least the larger, or between; the ratio between lies in between as
    well, so that a cell for all of that loses nothing of the worst event.
    """
    distributions: list[list[tuple[float, float]]] = []
    for mine, theirs, scale in zip(one, other, scales, strict=True):
        if mine != theirs:
            low, high = sorted((mine, theirs))
            above = [_tail(high - centre, scale) for centre in (mine, theirs)]
            below = [_tail(centre - low, scale) for centre in (mine, theirs)]
            cells = [(below[0], below[1]), (above[0], above[1])]
            if high - low > 1:
                cells.append((1 - below[0] - above[0], 1 - below[1] - above[1]))
            distributions.append(cells)
    joint = list(product(*distributions))
    return tuple(np.array([np.prod([cell[side] for cell in cells]) for cells in joint]) for side in (0, 1))  # type: ignore[return-value]


def _tail(distance: int, scale: float) -> float:
    """Return P(X >= distance) of discrete Laplace noise."""
    ratio = exp(-1 / scale)
    tail = exp(-abs(distance) / scale) / (1 + ratio)
    return tail if distance >= 0 else 1 - tail * exp(-1 / scale)


def noisy_counts_of_files(name: str, epsilon: float) -> tuple[list[Pair], float]:
    """Return all neighbours among some files, each a set of lines, with their distributions, and the epsilon claimed.

    The files are released by the real functions with noise of zero, which notes counts and scales; there are no other draws.
    """
    tables = FILES[name]()
    mechanism, drawn = named(name), {}
    with folder_in_memory() as folder, remembered_plans():
        asked = Asked(epsilon, ADD_REMOVE, folder)
        for table in tables:
            file = folder / "table.csv"
            header = mechanism.canary.header
            file.write_text("\n".join([*([header] if header else []), *table]) + "\n", encoding="utf-8")
            with no_noise() as noted:
                drawn[table] = mechanism.release(file, asked), noted.counts, noted.scales
    claimed = {released.privacy["epsilon_by_accountant"]["pure"] for released, _, _ in drawn.values()}
    found = []
    for one, other in combinations(tables, 2):
        if _one_more(one, other) or _one_more(other, one):
            (_, counts, scales), (_, others, _) = drawn[one], drawn[other]
            found.append(Pair(_shown(one), _shown(other), *laplace_cells(counts, others, scales)))
    (epsilon_claimed,) = claimed
    return found, epsilon_claimed


def _one_more(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    rest = list(one)
    for line in other:
        if line not in rest:
            return False
        rest.remove(line)
    return len(rest) == 1


def _shown(lines: tuple[str, ...]) -> str:
    return " | ".join(f"{lines.count(line)} x {line}" for line in dict.fromkeys(lines))


def _tables(records: Sequence[str], rows: int) -> list[tuple[str, ...]]:
    """Return every table of 1 to so many records."""
    return [each for number in range(1, rows + 1) for each in combinations_with_replacement(records, number)]


def _graphs() -> list[tuple[str, ...]]:
    edges = [f"{a} {b}" for a, b in combinations("uvwx", 2)]
    return [each for number in range(1, 5) for each in combinations(edges, number)]


def _selections(name: str, epsilon: float) -> tuple[list[Pair], float]:
    """Return the neighbours of a mechanism that selects, with the distributions that its tests read off the real draws."""
    workload, relation = conjunctions(bits_schema(1), "a"), NeighbouringRelation.ADD_REMOVE
    if name == "dualquery":
        game = Game.of(workload, rounds=2, draws=1, step=str(epsilon * SIZE), size=SIZE, relation=relation)
        pairs = all_neighbours(game, [SIZE - 1, SIZE, SIZE + 1])
        distributions = {table: game.distribution(table) for pair in pairs for table in pair}
        charges = game.charges(pairs[0][0])
    elif name == "fem":
        fem = FemGame.of(workload, rounds=1, records=1, range_=str(epsilon), size=SIZE, relation=relation)
        pairs = fem.pairs()
        played = {table: fem.distributions(table) for pair in pairs for table in pair}
        distributions = {table: fem.distribution(found) for table, (found, _) in played.items()}
        charges = played[pairs[0][0]][1]
    else:
        net = NetGame(workload, 1, str(epsilon), SIZE, relation)
        pairs = net.pairs()
        both = {table: net.distribution(table) for pair in pairs for table in pair}
        distributions = {
            table: [Decimal(float(share)) for share in distribution] for table, (distribution, _) in both.items()
        }
        charges = both[pairs[0][0]][1]
    found = [
        Pair(_true(one), _true(other), _floats(distributions[one]), _floats(distributions[other]))
        for one, other in pairs
    ]
    return found, columns_of(charges).epsilon(Accountant.PURE, 0.0)


def _rounds(_: str, epsilon: float) -> tuple[list[Pair], float]:
    """Return the neighbours of a round of multiplicative weights: a selected query, and its noisy count."""
    plan = tiny_plan(
        NeighbouringRelation.ADD_REMOVE, range_=str(epsilon / 2), scale=2 / epsilon, gaussian=False, size=SIZE
    )
    game = RoundGame(plan, CLAUSES.take([0]))
    pairs = table_neighbours(plan.relation)
    distributions = {table: (game.distribution(table), game.measured(table)) for pair in pairs for table in pair}
    found = []
    for one, other in pairs:
        parts = []
        for p, q, mine, theirs in zip(
            *distributions[one][:1],
            *distributions[other][:1],
            distributions[one][1],
            distributions[other][1],
            strict=True,
        ):
            cells = laplace_cells(mine.tolist(), theirs.tolist(), [plan.scale] * len(mine))
            parts.append((float(p) * cells[0], float(q) * cells[1]))
        found.append(Pair(str(one), str(other), *(np.concatenate(side) for side in zip(*parts, strict=True))))
    return found, columns_of(plan.charges()).epsilon(Accountant.PURE, 0.0)


def _searches(name: str, epsilon: float) -> tuple[list[Pair], float]:
    """Return the neighbours of a release of intervals or boxes: where its searches end, and the noisy counts there."""
    one_column = name != "boxes"
    plan = plan_partition(
        (4,) if one_column else (3, 2),
        Budget(epsilon, 0.0, None, Accountant.PURE),
        ROWS,
        intervals=2 if one_column else None,
        cuts=None if one_column else 1,
    )
    games: dict[str, Callable[[Any], SearchGame]] = {"intervals": interval_game, "boxes": split_game}
    game = games[plan.parts](plan)
    pairs = record_neighbours(NeighbouringRelation.ADD_REMOVE, game.bins)
    paths = {
        counts: {path.outcomes: (path, float(game.distribution(path))) for path in game.paths(counts)}
        for counts in {counts for pair in pairs for counts in pair}
    }
    found = []
    for one, other in pairs:
        parts = []
        for outcomes, (path, p) in paths[one].items():
            theirs, q = paths[other][outcomes]
            cells = laplace_cells(_measured(path), _measured(theirs), [scale for c, scale in path.measured for _ in c])
            parts.append((p * cells[0], q * cells[1]))
        found.append(Pair(str(one), str(other), *(np.concatenate(side) for side in zip(*parts, strict=True))))
    return found, columns_of(plan.charges()).epsilon(Accountant.PURE, 0.0)


def _measured(path: Path) -> list[int]:
    return [count for counts, _ in path.measured for count in counts]


def _true(table: Sequence[tuple[int, ...]]) -> str:
    return f"{sum(value for (value,) in table)} of {len(table)} are true"


def _floats(distribution: Sequence[Decimal]) -> Floats:
    return np.array([float(share) for share in distribution])


_POINTS = ("0.6,0.8", "-0.6,-0.8", "0.8,-0.6", "-0.8,0.6")
_RECORDS = (TRUE, FALSE, "true,1.5,0.5")
FILES: dict[str, Callable[[], list[tuple[str, ...]]]] = {
    "histogram, Laplace": lambda: _tables(_RECORDS, 3),
    "grid": lambda: _tables(_RECORDS, 3),
    "sorted counts": lambda: _tables(_RECORDS, 3),
    "degrees, declared nodes": _graphs,
    "summary": lambda: _tables(_RECORDS, 3),
    "decision lists": lambda: _tables(("else:1", "else:0", "x1:1, else:0", "!x1:1, else:0"), 3),
    "halfspaces": lambda: _tables(_POINTS, 2),
    "sanitizer": lambda: _tables(_RECORDS, 2),
    "noise": lambda: _tables(_RECORDS, 3),
    "projection": lambda: _tables(_RECORDS, 2),
}
SEARCHES = ("intervals", "boxes")
LAWS: dict[str, Callable[[str, float], tuple[list[Pair], float]]] = {
    **dict.fromkeys(FILES, noisy_counts_of_files),
    **dict.fromkeys(("dualquery", "fem", "smalldb", "net"), _selections),
    **dict.fromkeys(SEARCHES, _searches),
    "mwem": _rounds,
}


def exact_row(name: str, epsilon: float) -> dict[str, Any]:
    """Return the worst pair and event of a mechanism at epsilon, under add-remove."""
    pairs, claimed = LAWS[name](name, epsilon)
    worst = worst_event(pairs)
    return {
        "mechanism": name,
        "epsilon": epsilon,
        "claimed": claimed,
        "exact": worst.epsilon,
        "ratio": worst.epsilon / claimed,
        "pairs": len(pairs),
        "outcomes": max(len(pair.distribution) for pair in pairs),
        "one": worst.pair.one,
        "other": worst.pair.other,
        "event": list(worst.event),
        "probabilities": [worst.probability, worst.other_probability],
    }
