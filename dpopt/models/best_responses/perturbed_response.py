"""The data player's perturbed best response in FEM: the record that answers the selected queries best, shaken.

Problem (models/perturbed_response, PR-1): maximize sum_j w_j q_j(x) + sum_a r[a, x_a] over records x, where w_j is how
often base query j was selected minus how often its negation was, and r[a, v] is the random reward of value v of
attribute a: r = -sigma, sigma exponential with mean lambda, all independent.

As a `MaxCsp` (PR-2), rewards are clauses of one literal, in whole units of 1/1024 of a query. Values of an attribute
that no selected query names differ in their rewards alone, so only the best of them can be optimal (PR-3): its reward,
the largest of k independent ones, is drawn at once by inverting the k-th power of the distribution, and which value it
is, uniformly. So a problem names a few values of each attribute, however many there are. The best unnamed value is the
hint's, and a solver that sees named values only gives it back (PR-4).

Source: Vietri, Tian, Bun, Steinke and Wu 2020, section 3 (FEM); Suggala and Netrapalli 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze, frozen, whole
from dpopt.errors import ProgramError
from dpopt.models.best_responses.best_response import best_response
from dpopt.models.best_responses.column_pricing import joined_clauses
from dpopt.models.model import Model
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit, starts

UNITS = 1024
"""Units per query: rewards are rounded to this part of one query."""

_LARGEST_REWARD = 2.0**40


@dataclass(frozen=True, slots=True, eq=False)
class SelectedSoFar:
    """The selected queries as weighted clauses, and the values that they name."""

    sizes: NDArray[np.int32]
    """Shape (d,). Number of codes of each attribute."""
    clauses: Clauses
    weights: NDArray[np.int64]
    """Base queries with net numbers of selections, (r,), none 0."""
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    """Shapes (u,) and (d + 1,). Codes that compete with rewards of their own, attribute by attribute: named by a clause, or
    all codes of an attribute that a rule names."""
    others: NDArray[np.int32]
    other_starts: NDArray[np.int64]
    """Shapes (v,) and (d + 1,). The other codes that a record may take, attribute by attribute."""
    rules: ThresholdCircuit = NO_RULES
    """Hard rules on records."""


def selected_so_far(
    sizes: NDArray[np.int32],
    clauses: Clauses,
    weights: NDArray[np.int64],
    possible: NDArray[np.bool_],
    rules: ThresholdCircuit = NO_RULES,
) -> SelectedSoFar:
    """Return the data that all perturbed best responses of a round share.

    Base queries over attributes of these `sizes` (d,) have net numbers of selections (r,). `possible` (columns,) says
    which codes a record may take where no query names them, attribute by attribute, flat; at least one of each
    attribute.
    """
    sizes = frozen(sizes, np.int32)
    offsets = starts(sizes)
    if weights.shape != (len(clauses),) or possible.shape != (int(offsets[-1]),):
        raise ProgramError(
            f"{len(clauses)} clauses with weights of shape {weights.shape}, {int(offsets[-1])} codes of which "
            f"{possible.shape} are said to be possible or not: the arrays do not fit together"
        )
    owner = np.repeat(np.arange(sizes.size), sizes)
    if np.any(np.bincount(owner[possible], minlength=sizes.size) == 0):
        raise ProgramError("an attribute has no possible code; every attribute needs at least one")
    used = clauses.attributes >= 0
    competes = np.zeros(possible.size, dtype=np.bool_)
    competes[(offsets[clauses.attributes] + clauses.values)[used & (weights != 0)[:, None]]] = True
    ruled = np.zeros(sizes.size, dtype=np.bool_)
    ruled[rules.term_attributes] = True
    competes |= ruled[owner]
    others = possible & ~competes
    code = (np.arange(possible.size) - offsets[owner]).astype(np.int32)
    kept = np.flatnonzero(weights)
    return SelectedSoFar(
        sizes,
        clauses.take(kept),
        freeze(weights[kept].astype(np.int64)),
        freeze(code[competes]),
        starts(np.bincount(owner[competes], minlength=sizes.size)),
        freeze(code[others]),
        starts(np.bincount(owner[others], minlength=sizes.size)),
        rules,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Perturbations:
    """Rewards of several perturbed best responses to the same selected queries, in units."""

    rewards: NDArray[np.int64]
    """Shape (s, u). Of the codes that compete."""
    best_others: NDArray[np.int64]
    """Shape (s, d). The largest reward among an attribute's other codes; 0 where it has none."""
    hints: NDArray[np.int32]
    """Shape (s, d). The code that has it; where there is none, the first code that competes."""


def perturbations(selected: SelectedSoFar, uniforms: NDArray[np.float64], scale: float) -> Perturbations:
    """Return the rewards of s perturbed best responses.

    `uniforms` (s, u + 2 d) are independent, uniform in [0, 1): one for each code that competes, two for each attribute.
    """
    d, u = selected.sizes.size, selected.codes.size
    if uniforms.ndim != 2 or uniforms.shape[1] != u + 2 * d:
        raise ProgramError(f"uniforms have shape {uniforms.shape}, expected (s, {u + 2 * d})")
    # 1 - uniform is in (0, 1]: neither logarithm is infinite.
    above = 1.0 - uniforms
    rewards = np.log(above[:, :u]) * scale
    several = np.diff(selected.other_starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.log(above[:, u : u + d]) / np.maximum(several, 1) * scale
    best[:, several == 0] = 0.0
    picked = (uniforms[:, u + d :] * several).astype(np.int64)
    place = selected.other_starts[:-1] + np.minimum(picked, np.maximum(several - 1, 0))
    first = selected.codes[np.minimum(selected.starts[:-1], max(u - 1, 0))] if u else np.zeros(d, np.int32)
    others = selected.others[np.minimum(place, max(selected.others.size - 1, 0))] if selected.others.size else first
    # Where every code competes, the choice is the same for all records and still needs a row for each.
    hints = np.broadcast_to(np.where(several > 0, others, first), best.shape).astype(np.int32)
    return Perturbations(freeze(_whole(rewards)), freeze(_whole(best)), freeze(hints))


def perturbed_problem(selected: SelectedSoFar, shaken: Perturbations, number: int) -> MaxCsp:
    """Return the perturbed best response of this number as a program; its hint is `shaken.hints[number]`.

    Its objective is that of PR-1 in units, less `constant` (PR-4).
    """
    owner = np.repeat(np.arange(selected.sizes.size, dtype=np.int32), np.diff(selected.starts))
    advantage = shaken.rewards[number] - shaken.best_others[number][owner]
    kept = advantage != 0
    positions, values = owner[kept][:, None], selected.codes[kept][:, None]
    rewards = Clauses.conjunctions(positions, values, np.ones(positions.shape, dtype=np.bool_))
    return MaxCsp(
        selected.sizes,
        joined_clauses([selected.clauses, rewards]),
        freeze(np.concatenate([selected.weights * UNITS, advantage[kept]])),
        selected.rules,
    )


def perturbed_response(
    sizes: ArrayLike, queries: Sequence[Sequence[Sequence[int]]], weights: ArrayLike, rewards: Sequence[Sequence[float]]
) -> Model:
    """Return PR-1 as a model, in units of 1/1024 of a query (PR-2), with a reward for every code.

    Parameters
    ----------
    sizes : (d,) int
        Number of codes of each attribute.
    queries
        Conjunctions: for each its literals (attribute, code).
    weights : (r,) int
        w_j, how often a query was selected less how often its negation was.
    rewards
        For each attribute r[a, v] of its codes.

    Examples
    --------
    >>> rewards = [[-2, -1.5, -0.5], [-0.25, -0.125]]
    >>> found = perturbed_response([3, 2], [[[0, 1], [1, 0]]], [2], rewards).solve("highs")
    >>> found.objective / 1024, np.flatnonzero(found.value["x"]).tolist()
    (0.25, [1, 3])
    """
    counts, net = whole(sizes), whole(weights)
    if [len(one) for one in rewards] != counts.tolist() or net.shape != (len(queries),) or not counts.size:
        raise ProgramError(
            f"perturbed_response: found attributes of {counts.tolist()} codes with {[len(one) for one in rewards]} "
            f"rewards, and {len(queries)} queries with weights of shape {net.shape}; expected one for each"
        )
    table = np.full((len(queries), max(map(len, queries), default=1), 2), -1, dtype=np.int32)
    for row, literals in zip(table, queries, strict=True):
        pairs = whole(literals)
        if pairs.shape != (len(literals), 2):
            raise ProgramError(
                f"perturbed_response: found the query {literals!r:.80}; expected pairs (attribute, code)"
            )
        row[: len(literals)] = pairs
    attributes = np.repeat(np.arange(counts.size), counts)[:, None]
    codes = np.concatenate([np.arange(size) for size in counts.tolist()])[:, None]
    reward = np.concatenate([np.asarray(one, dtype=np.float64) for one in rewards])
    if not (np.abs(reward) * UNITS <= _LARGEST_REWARD).all() or not (np.abs(net) < _LARGEST_REWARD).all():
        raise ProgramError(
            f"perturbed_response: found a reward or weight that is not a number or beyond {_LARGEST_REWARD / UNITS:,.0f} "
            f"queries"
        )
    given = _whole(reward)
    kept = given != 0
    clauses = [
        Clauses.conjunctions(table[..., 0], table[..., 1], table[..., 0] >= 0),
        Clauses.conjunctions(attributes[kept], codes[kept], np.ones((int(kept.sum()), 1), dtype=np.bool_)),
    ]
    problem = MaxCsp(counts.astype(np.int32), joined_clauses(clauses), np.concatenate((net * UNITS, given[kept])))
    return replace(best_response(problem), name="perturbed_response")


def constant(shaken: Perturbations, number: int) -> int:
    """Return the reward that every record of a program collects and the program leaves out, in units."""
    return int(shaken.best_others[number].sum())


def _whole(rewards: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(np.clip(rewards * UNITS, -_LARGEST_REWARD, _LARGEST_REWARD)).astype(np.int64)
