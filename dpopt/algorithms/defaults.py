"""What a release takes where it is not told: a delta, and a workload. Rules over public values, which say why in words."""

from __future__ import annotations

from dataclasses import replace
from math import comb

from dpopt.algorithms.asked import Terms
from dpopt.algorithms.measured.stages import MOST_CELLS, MOST_SETS
from dpopt.algorithms.options import Projection
from dpopt.algorithms.registry import plan_of, predict
from dpopt.errors import DpoptError
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.plan import MOST_DELTA, usual_delta
from dpopt.releases.public_population.population import MOST_ATTRIBUTES
from dpopt.schema.schema import Schema

GUESS = 10_000
"""Records that the default workload is chosen for, where no public number is known yet."""
_GUESSED = (
    f"; chosen as for {GUESS:,} records, since their number is not known yet; --n0, or a plan for --n, takes another"
)
WIDTH = 3
"""Attributes of a marginal at most."""
CLEARLY = 1.25
"""How many times smaller than that of independent columns the predicted mean error of three-way marginals must be."""
WIDE = "conjunctions:3,count=100000,seed=0"


def delta_said(terms: Terms) -> str | None:
    """Return in words which delta a budget of epsilon alone has, and why; None where one is given, or none needed."""
    if terms.epsilon is None or terms.delta is not None or terms.accountant == "pure":
        return None
    why = (
        "fixed before the number of records is measured: below 1/n for up to a billion records, below 1/n^2 for up to "
        "31,622"
        if terms.n0 is None
        else f"1/n0^2 for n0 = {terms.n0:,}, rounded down, and at most {MOST_DELTA:g}"
    )
    return f"delta: {usual_delta(terms.n0):g}, {why}; --delta takes another, and --delta 0 pure differential privacy"


def settled(terms: Terms) -> Terms:
    """Return the terms with the delta and the accountant that they stand for, as they are put on file."""
    budget = terms.budget()
    return replace(terms, delta=budget.delta, accountant=budget.accountant.value)


def usual_workload(schema: Schema, terms: Terms, size: int | None) -> tuple[Workload, str]:
    """Return the queries of a release that names none, and in words why these.

    All three-way marginals, where they have at most 5,000,000 cells, can be measured together, and are predicted a mean
    error that is clearly (`CLEARLY`) below that of noisy columns taken as independent; otherwise all two-way marginals.
    Of tables of more than 100 columns of zeros and ones: 100,000 random conjunctions of three conditions.

    Parameters
    ----------
    terms
        Their budget is what the marginals are predicted for.
    size
        The public number of records, or a guess of it; None stands for 10,000.
    """
    if schema.is_binary and len(schema) > MOST_ATTRIBUTES:
        return parse_workload(WIDE, schema), _said(WIDE, f"{len(schema):,} columns of zeros and ones")
    text, why, guessed = f"marginals:{min(WIDTH, len(schema))}", None, ""
    if len(schema) < WIDTH or (why := _too_many(schema)) is None:
        workload = parse_workload(text, schema)
        if len(schema) >= WIDTH:
            why = _against(workload, terms, GUESS if size is None else size)
            guessed = _GUESSED if size is None else ""
    if why is not None:
        text = "marginals:2"
        workload = parse_workload(text, schema)
    shape = f"all {text[-1]}-way marginals of {len(schema)} columns, {len(workload):,} cells"
    return workload, _said(text, (shape if why is None else f"{shape}, since {why}") + guessed)


def _said(text: str, because: str) -> str:
    return f"workload: {text} ({because}); --workload takes others"


def _too_many(schema: Schema) -> str | None:
    """Return why there are too many three-way marginals; None if there are not."""
    cells = _cells_of_triples(schema)
    if cells > MOST_CELLS:
        return f"those of three columns have {cells:,} cells, more than {MOST_CELLS:,}"
    sets = sum(comb(len(schema), order) for order in range(1, WIDTH + 1))
    if sets > MOST_SETS:
        return f"there are {sets:,} sets of up to three columns, more than the {MOST_SETS:,} that are measured together"
    return None


def _against(workload: Workload, terms: Terms, size: int) -> str | None:
    """Return what speaks against measuring all three-way marginals; None if nothing does."""
    try:
        plan = plan_of(replace(terms.request(size), options=Projection()), workload)
        predicted = predict(plan, workload)
    except DpoptError:
        return "those of three columns cannot be measured together"
    columns = (predicted.baselines or {}).get("independence")
    if columns is None or CLEARLY * predicted.mean_error <= columns["mean_error"]:
        return None
    return (
        f"for {size:,} records and this budget those of three columns would have a mean error of "
        f"{predicted.mean_error:.2g}, hardly less than noisy columns taken as independent, {columns['mean_error']:.2g}"
    )


def _cells_of_triples(schema: Schema) -> int:
    """Return the number of cells of all marginals of three attributes: the third elementary symmetric polynomial."""
    ones, squares, cubes = (int((schema.sizes.astype(object) ** power).sum()) for power in (1, 2, 3))
    return int((ones**3 - 3 * ones * squares + 2 * cubes) // 6)
