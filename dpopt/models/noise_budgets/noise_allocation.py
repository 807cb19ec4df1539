"""The shares of a privacy budget of marginals with the least predicted error of a workload of marginals.

Candidates are the marginals A over all non-empty subsets of the workload's (NA-2). With variables s_A, the share of
rho:

    minimize   sum_B c_B / tau_B                                                        (NA-1)
    subject to sum_A s_A = 1, s >= 0,                                                   (NA-2)
               tau_B = kappa_B + (2 rho / sensitivity) sum_{A containing B} s_A / N(A - B)    (NA-3)

where N(S) is the number of cells over S, D_B = prod_{b in B} (n_b - 1), and for each set B of attributes c_B = D_B
sum_{workload W containing B} N(W)^(-1/2) / N(W - B) (NA-4), kappa_B = D_B / (theta^|B| n^2) (NA-5). Derivation, sizes,
experiments and a worked example: models/noise_allocation/README.md.

Convex; 1/tau needs cones (`noise_allocation`). No solver is needed. Minimizing the upper bound 1 / sum_A z_A <= sum_A
w_A^2 / z_A (w_A = z_A / sum z at the current shares) gives the step s_A <- s_A sqrt(g_A), scaled to sum 1, with g_A the
negative partial derivatives (NA-6). It never goes up, keeps the shares feasible, and convexity says how far the optimum
is at most: max_A g_A - sum_A s_A g_A (NA-7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.constraints import constrain
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import SolvedBudget, budget_solved_by, ratio_model, workload_of
from dpopt.programs.building import Builder
from dpopt.programs.solver import Solver
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import largest_parts, subsets_of

SIGNAL = 0.2  # theta: what one more attribute leaves of a component's squared norm; chosen by experiment
CLOSE = 1e-6  # gap, as a part of the objective, at which the steps end
MOST_STEPS = 20_000
DROPPED = 0.02  # shares below this part of an equal share are given to the others


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """Which marginals to measure, and how much of the budget each gets."""

    marginals: MarginalSet
    """A marginals, by number of attributes, then in lexicographic order; attributes increase within each."""
    shares: NDArray[np.float64]
    """Shape (A,). Share of rho of each, above 0, sum 1."""
    gap: float
    """No other shares have less than (1 - gap) times the objective of NA-1; proven (NA-7), in [0, 1]."""
    solved: SolvedBudget | None = None
    """How the shares compare with those of the steps NA-6, where a solver found them."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        if self.shares.shape != (len(self.marginals),) or not (self.shares > 0).all():
            raise ProgramError(
                f"an allocation: found {self.shares.size} shares for {len(self.marginals)} marginals, expected one "
                f"above 0 for each"
            )
        if abs(float(self.shares.sum()) - 1) > 1e-12:
            raise ProgramError(f"an allocation: the shares add up to {float(self.shares.sum())!r}, expected 1")


@dataclass(frozen=True, slots=True, eq=False)
class AllocationProgram:
    """NA-1 to NA-5 as arrays."""

    candidates: MarginalSet
    """By number of attributes, which increase within each; every component B is a candidate."""
    supersets: NDArray[np.int64]
    components: NDArray[np.int64]
    gains: NDArray[np.float64]
    """Shape (e,). Candidate A, component B and 2 rho / (sensitivity N(A - B)) for each pair with B in A (NA-3)."""
    costs: NDArray[np.float64]
    prior: NDArray[np.float64]
    """Shape (S,). c_B (NA-4), and kappa_B (NA-5)."""

    def precisions(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tau_B for each component, (S,) (NA-3)."""
        terms = self.gains * shares[self.supersets]
        return self.prior + np.bincount(self.components, weights=terms, minlength=self.prior.size)

    def objective(self, shares: NDArray[np.float64]) -> float:
        """Return the predicted squared error of the workload, in records squared, its marginals weighted (NA-1)."""
        return float((self.costs / self.precisions(shares)).sum())

    def slopes(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return g_A, by how much the objective falls per unit of share, (S,) (NA-6)."""
        falls = self.costs / self.precisions(shares) ** 2
        terms = self.gains * falls[self.components]
        return np.asarray(np.bincount(self.supersets, weights=terms, minlength=self.prior.size), np.float64)

    def lower_bound(self, shares: NDArray[np.float64]) -> float:
        """Return a number that the objective of no shares is below (NA-7); the better the shares, the higher."""
        slopes = self.slopes(shares)
        return self.objective(shares) - float(slopes.max() - shares @ slopes)


def allocate_noise(
    marginals: MarginalSet,
    *,
    rho: float,
    size: int,
    sensitivity: int = 1,
    signal: float = SIGNAL,
    solver: str | Solver | None = None,
) -> Allocation:
    """Return the marginals to measure and their shares of rho, with the least predicted error of the workload (NA-1).

    The plan depends on public numbers only. Marginal A is then measured with Gaussian noise of variance sensitivity /
    (2 rho s_A), and records are fitted to all measurements by weighted least squares.

    Parameters
    ----------
    rho
        The whole budget of the measurements, in zCDP, above 0.
    size
        Public number of records n, at least 1.
    sensitivity
        How many cells of one marginal a record moves: 1 under add-remove, 2 under replace-one.
    signal
        theta of NA-5, in (0, 1].
    solver
        Who finds the shares in place of the steps NA-6. Its shares are evaluated here.
    """
    _require(rho, size, sensitivity, signal)
    program = allocation_program(marginals, rho=rho, size=size, sensitivity=sensitivity, signal=signal)
    best, solved = solve_allocation(program), None
    if solver is not None:
        best, solved = budget_solved_by(solver, allocation_model(program), "s", best, program.objective)
    shares = np.where(best * best.size < DROPPED, 0.0, best)
    shares /= shares.sum()
    kept = np.flatnonzero(shares)
    rows = program.candidates.attributes[kept]
    width = int(program.candidates.widths()[kept].max())
    predicted = program.objective(shares)
    return Allocation(
        MarginalSet(marginals.domains, freeze(np.ascontiguousarray(rows[:, :width]))),
        freeze(shares[kept] / shares[kept].sum()),
        max(0.0, 1.0 - program.lower_bound(best) / predicted) if predicted else 0.0,
        solved,
    )


def _require(rho: float, size: int, sensitivity: int, signal: float) -> None:
    if not 0 < rho < np.inf or size < 1 or sensitivity not in {1, 2} or not 0 < signal <= 1:
        raise ProgramError(
            f"noise allocation: found rho={rho!r}, size={size!r}, sensitivity={sensitivity!r} and signal={signal!r}, "
            f"expected rho above 0, size from 1, sensitivity 1 or 2, and signal above 0 and at most 1"
        )


def allocation_program(
    marginals: MarginalSet, *, rho: float, size: int, sensitivity: int, signal: float
) -> AllocationProgram:
    """Return the arrays of NA-1 to NA-5; arguments as of `allocate_noise`."""
    if not len(marginals):
        raise ProgramError("noise allocation: found no marginal, expected at least one")
    try:
        candidates, wholes, parts = subsets_of(marginals, smallest=1)
        _, supersets, components = subsets_of(candidates, smallest=1)
    except WorkloadError as problem:
        raise ProgramError(f"noise allocation: {problem}") from problem
    used = candidates.attributes >= 0
    falling = np.where(used, -candidates.attributes, np.iinfo(np.int32).min)[components]
    order = np.lexsort((*falling.T[::-1], supersets))  # sums in the steps are rounded as in plans on file
    supersets, components = supersets[order], components[order]
    cells, widths, sizes = candidates.cells().astype(np.float64), candidates.widths(), marginals.domains.counts
    ratios = cells[components] / cells[supersets]  # 1 / N(A - B)
    dimensions = np.where(used, sizes[candidates.attributes] - 1.0, 1.0).prod(axis=1)
    uses = np.bincount(largest_parts(marginals, wholes, parts), minlength=len(candidates))
    weights = uses / np.sqrt(cells)
    costs = dimensions * np.bincount(components, ratios * weights[supersets], len(candidates))  # NA-4
    prior = np.maximum(dimensions, 1.0) / (signal**widths * float(size) ** 2)  # NA-5
    return AllocationProgram(
        candidates=candidates,
        supersets=supersets,
        components=components,
        gains=2.0 * rho / sensitivity * ratios,
        costs=costs,
        prior=prior,
    )


def noise_allocation(
    sizes: ArrayLike,
    marginals: Sequence[Sequence[int]],
    rho: float,
    size: int,
    *,
    sensitivity: int = 1,
    signal: float = SIGNAL,
) -> Model:
    """Return the model of NA-1 to NA-5; its own method are the steps NA-6.

    Parameters
    ----------
    sizes : (d,) int
        n_a, the number of codes of each attribute.
    marginals
        The workload: attributes of each marginal, from 0.
    rho, size, sensitivity, signal
        As of `allocate_noise`.

    Examples
    --------
    >>> found = noise_allocation([3, 3], [[0, 1]], 0.5, 4, signal=0.25).solve()
    >>> found.value["s"].round(3).tolist()
    [0.429, 0.429, 0.142]
    """
    workload = workload_of(sizes, marginals, name="noise_allocation")
    _require(rho, size, sensitivity, signal)
    return allocation_model(allocation_program(workload, rho=rho, size=size, sensitivity=sensitivity, signal=signal))


def allocation_model(program: AllocationProgram) -> Model:
    """Return the arrays of NA-1 to NA-5 as a model: v_B, the error of a component, is at least c_B / tau_B."""
    number = program.prior.size
    names = [",".join(str(a) for a in row if a >= 0) for row in program.candidates.attributes.tolist()]
    build = Builder()
    s = build.variables("s", number, upper=1.0, inside=lambda: names)
    return ratio_model(
        "noise_allocation",
        build,
        s,
        symbol="v",
        labels=("NA-2", "", "NA-3"),
        gains=(program.components, s[program.supersets], program.gains),
        floors=program.costs,
        constants=program.prior,
        start=np.full(number, 1.0 / number),
        own=lambda: (solve_allocation(program), np.ones(1)),
        method="multiplicative-steps",
        names=lambda: names,
    )


def solve_allocation(program: AllocationProgram) -> NDArray[np.float64]:
    """Return shares, (S,), whose objective is within a part CLOSE of the optimum, or those after MOST_STEPS."""
    shares = np.full(program.prior.size, 1.0 / program.prior.size)
    for _ in range(MOST_STEPS):
        slopes = program.slopes(shares)
        if slopes.max() - shares @ slopes <= CLOSE * program.objective(shares):
            break
        shares *= np.sqrt(slopes)  # NA-6
        shares /= shares.sum()
    return shares
