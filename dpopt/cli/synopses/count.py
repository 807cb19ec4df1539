"""`dpopt count`: how many records satisfy a condition, by the mechanism of least expected loss."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from dpopt.cli import options
from dpopt.cli.synopses import shared
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from dpopt.synopses.optimal_count import CountPlan, OptimalCount
    from dpopt.synopses.release import Request, RequestKeywords

COUNT = shared.Kind("count", "One small count of records, drawn with the least expected loss.", KINDS["dpopt_count"])


@dataclass(frozen=True)
class MatrixOptions:
    """The options that decide the matrix."""

    most: Annotated[int, "The largest count, at most 64; larger counts are replaced by it. Public."]
    loss: Annotated[str, "The loss to minimize for the worst count: absolute, squared, or wrong (any wrong count)."] = (
        "absolute"
    )
    solver: options.ModelSolverOption = None


@COUNT.plans()
def plan(request: Request, *, matrix: MatrixOptions) -> shared.Output:
    """Show the least expected loss, and its proof, before any table is read."""
    from dpopt.synopses.optimal_count import planned_count, pure_unless_rho

    budget = pure_unless_rho(request).noise(lambda given, _: planned_count(request, given, **asdict(matrix)), None)
    found = planned_count(request, budget, **asdict(matrix))
    return shared.Output({**found.to_json(), "notes": [note.text for note in found.notes()]}, [_prediction(found)])


@COUNT.releases(lambda released: _prediction(released.plan))
def release(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    schema: shared.SchemaOption,
    where: Annotated[str, "A condition on the records that are counted, such as 'age >= 65 and job = nurse'."],
    matrix: MatrixOptions,
) -> OptimalCount:
    """Release how many records satisfy a condition."""
    from dpopt.synopses.optimal_count import count

    return count(table, schema, where, **asdict(matrix), **how)


@COUNT.shows("answer")
def answer(released: OptimalCount, *, confidence: shared.ConfidenceOption = 0.95) -> shared.Output:
    """Give the count that was drawn, with an interval. Costs no privacy."""
    found = released.answer(confidence=confidence)
    high = "more" if found.high is None else f"{found.high}"
    line = f"{released.where}: {found.value} records; {100 * confidence:.12g}% interval: {found.low} to {high}"
    return shared.Output({"where": released.where, **asdict(found)}, [line])


COUNT.exports_json()


def _prediction(plan: CountPlan) -> str:
    delta = "".join(f" and delta {one.parameter:g}" for one in plan.charges()[1:])
    notes = "".join(f" ({note.text})" for note in plan.notes())
    return (
        f"expected {plan.loss} loss at most {plan.expected_error:.6g}; no mechanism of epsilon {plan.epsilon:.6g}{delta} "
        f"has less than {plan.bound:.6g} for the worst of the counts 0 to {plan.most}{notes}"
    )
