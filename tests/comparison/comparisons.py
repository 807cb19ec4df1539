"""A small comparison as values, for the tests of what is made of one."""

from __future__ import annotations

from dpopt.comparison.parts import CaseFacts, Comparison, Row, judged
from dpopt.programs import SolveLimits


def comparison() -> Comparison:
    """Return two solvers on two cases: one is best and slow, the other quick, once 10 % off and once crashed."""
    rows = [
        row("first", "good", 100, 104, ((0.1, 50), (1.0, 100), (4.0, 100))),
        row("first", "quick", 90, 90, ((0.1, 90), (4.0, 90)), status="optimal"),
        row("second", "good", 200, 200, ((0.1, 150), (1.0, 199), (4.0, 200)), status="optimal", memory=64.0),
        Row("second", "quick", "failed", "signal 11, at once"),
    ]
    facts = [
        CaseFacts(
            "first",
            {"attributes": 5, "clauses": 9},
            104,
            "weak duality, clique relaxation, multipliers of lp",
            100,
            None,
        ),
        CaseFacts("second", {"attributes": 6, "clauses": 8}, 200, "sum of the positive weights", 200, 200),
    ]
    known = {fact.name: fact for fact in facts}
    return Comparison(
        SolveLimits(seconds=5.0, threads=2, seed=3),
        ("good", "quick"),
        [judged(one, known[one.case]) for one in rows],
        facts,
    )


def row(
    case: str,
    solver: str,
    value: int,
    bound: int | None,
    trajectory: tuple[tuple[float, int], ...],
    *,
    status: str = "time limit",
    memory: float | None = None,
) -> Row:
    """Return a row whose values over time are given."""
    marks = (0.1, 1.0, 5.0)
    at_mark = tuple((mark, max(value for at, value in trajectory if at <= mark)) for mark in marks)
    return Row(
        case,
        solver,
        status,
        "in its own words",
        value,
        bound,
        trajectory[-1][0],
        memory,
        at_mark,
        "history" if solver == "good" else "separate runs",
        trajectory,
    )
