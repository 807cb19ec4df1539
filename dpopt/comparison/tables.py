"""A comparison as files, as figures for people and as profiles: results.json, results.csv, leaderboard.md, a summary.

How often each solver comes close to the best known value, by time and by distance:

For a case with best known value b, a value v is within x % if |b - v| <= x / 100 * max(u, |b|), where u is 1 for
records and 1e-6 for models. Two profiles, in the form of Dolan and More's (2002, "Benchmarking optimization software
with performance profiles"): for each solver the share of all cases

- over time: that it has brought within x % by t seconds;
- over distance: whose final value is within x %.

A solver that fails, cannot take a case, or breaks a row has not come close. Cases without any known value are left out
for all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.comparison.compare import MARKS
from dpopt.comparison.parts import CaseFacts, Comparison, Row, claims_what_is_not_so, shown
from dpopt.files.written_files import whole_file
from dpopt.releases.folder_files import write_json

WITHIN = 1.0
"""Per cent of the best known value at which times are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A step curve for each solver."""

    labels: tuple[str, ...]
    """Solvers, in order."""
    points: tuple[NDArray[np.float64], ...]
    """For each solver, (k,), in rising order: the seconds, or the per cent, at which one more case is reached."""
    cases: int
    """Number of cases; each point is a step of 1 / cases."""


def profile_over_time(comparison: Comparison, within: float = WITHIN) -> Profile:
    """Return for each solver when it came within a number of per cent of the best known value."""

    def reached(row: Row, facts: CaseFacts) -> float:
        times = [seconds for seconds, value in row.trajectory if facts.distance(value) <= within]
        return min(times, default=np.inf)

    return _profile(comparison, reached)


def profile_over_distance(comparison: Comparison) -> Profile:
    """Return for each solver by how many per cent its final values fall short of the best known ones."""
    return _profile(comparison, lambda row, facts: np.inf if row.value is None else facts.distance(row.value))


def _profile(comparison: Comparison, reached: Callable[[Row, CaseFacts], float]) -> Profile:
    known = {facts.name: facts for facts in comparison.facts if facts.best_value is not None}
    points = []
    for label in comparison.labels:
        rows = [row for row in comparison.rows if row.solver == label and row.sound]
        found = np.array([reached(row, known[row.case]) for row in rows if row.case in known])
        points.append(np.sort(found[np.isfinite(found)]))
    return Profile(comparison.labels, tuple(points), len(known))


RESULTS, TABLE, BOARD, PICTURE = "results.json", "results.csv", "leaderboard.md", "performance_profile.png"

_FIGURES = ("answered", "best_value_reached", "proven_optimal", "false_claims", "primal_integral", "dual_integral")
EXPLAINED = {
    "value": "exact objective of the final answer, evaluated by dpopt",
    "violation": "by how much the answer to a model breaks a row; beyond 1e-6 its value does not count as reached",
    "at_mark": "best value after so many seconds; see values_from",
    "values_from": "history: incumbents as the solver states them, none better than the final value; separate runs: exact "
    "values of runs with these limits",
    "reported_bound": "as the solver states it",
    "proven_bound": "by weak duality in exact arithmetic, or the sum of the positive weights; one for each case",
    "own_proven_bound": "of a model: the bound that the duals of this answer prove",
    "best_value": "best exact objective reached by any solver, or known beforehand",
    "primal_integral": "mean over cases, in seconds: the gap of the best value so far; dual_integral: of the bound so far",
    "peak_memory_mb": "of the solver's child process, as it states",
}


def write_results(folder: Path, comparison: Comparison) -> None:
    """Write results.json, results.csv and leaderboard.md, each whole or not at all."""
    write_json(folder / RESULTS, to_json(comparison))
    with whole_file(folder / TABLE) as stream:
        stream.write(to_csv(comparison).encode())
    with whole_file(folder / BOARD) as stream:
        stream.write(leaderboard(comparison).encode("utf-8", "backslashreplace"))


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything that is known, as a JSON object."""
    from dpopt.version import __version__

    limits = comparison.limits
    return {
        "dpopt_compare": 1,
        "version": __version__,
        "limits": {"seconds": limits.seconds, "threads": limits.threads, "seed": limits.seed},
        "explained": EXPLAINED,
        "solvers": list(comparison.labels),
        "cases": [asdict(facts) for facts in comparison.facts],
        "rows": [_row(row, _facts(comparison, row)) for row in comparison.rows],
        "summary": summary(comparison),
    }


def to_csv(comparison: Comparison) -> str:
    """Return one line for each row."""
    marks = [mark for mark in MARKS if mark <= (comparison.limits.seconds or np.inf)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ["case", "solver", "status", "value", "reported_bound", "proven_bound", "reported_gap"]
    columns += ["proven_gap", "best_value", "violation", "seconds", "peak_memory_mb", "values_from"]
    writer.writerow([*columns, *(f"value_at_{mark:g}_s" for mark in marks), "remarks", "detail"])
    for row in comparison.rows:
        full = _row(row, _facts(comparison, row))
        values = dict(row.at_mark)
        writer.writerow(
            [
                *(full[name] for name in columns),
                *(values.get(mark) for mark in marks),
                "; ".join(row.remarks),
                row.detail,
            ]
        )
    return text.getvalue()


def summary(comparison: Comparison) -> list[dict[str, Any]]:
    """Return for each solver how often it was best, close, optimal, wrong, and how long it took."""
    found = []
    for label in comparison.labels:
        rows = [row for row in comparison.rows if row.solver == label]
        answered = [row for row in rows if row.value is not None and row.sound]
        known = [(row.value or 0, _facts(comparison, row)) for row in answered]
        short = [facts.distance(value) for value, facts in known if facts.best_value is not None]
        memory = [row.peak_memory_mb for row in rows if row.peak_memory_mb is not None]
        of_rows = [(row, _facts(comparison, row)) for row in rows]
        seconds = comparison.limits.seconds or 0.0
        primal = [integral(row.trajectory if row.sound else (), facts, seconds) for row, facts in of_rows]
        dual = [integral([one for one in row.bounds if facts.allows(one[1])], facts, seconds) for row, facts in of_rows]
        found.append(
            {
                "solver": label,
                "cases": len(rows),
                "answered": len(answered),
                "best_value_reached": sum(value == 0 for value in short),
                f"within_{WITHIN:g}_per_cent": sum(value <= WITHIN for value in short),
                "mean_per_cent_below_best": float(np.mean(short)) if short else None,
                "claimed_optimal": sum(row.status == "optimal" for row in rows),
                "proven_optimal": sum("proven optimal" in row.remarks for row in rows),
                "false_claims": sum(claims_what_is_not_so(row) for row in rows),
                "median_seconds": float(np.median([row.seconds for row in answered])) if answered else None,
                "largest_memory_mb": max(memory, default=None),
                "primal_integral": float(np.mean(primal or [seconds])),
                "dual_integral": float(np.mean(dual or [seconds])),
            }
        )
    return found


def integral(steps: Sequence[tuple[float, float]], facts: CaseFacts, seconds: float) -> float:
    """Return the integral over time, in seconds, of the gap of values or bounds v, in order of time, to the best value b.

    It is 0 if they are the same, 1 if they differ in sign and before the first v, and |b - v| / max(|b|, |v|) otherwise.
    Source: Berthold (2013), "Measuring the impact of primal heuristics".
    """
    best = facts.best_value
    gaps = np.array([1.0, *(1.0 if best is None else _gap(value, best, facts) for _, value in steps)])
    return float(np.diff(np.clip([0.0, *(at for at, _ in steps), seconds], 0.0, seconds)) @ gaps)


def _gap(value: float, best: float, facts: CaseFacts) -> float:
    if facts.behind(value, best) == 0:
        return 0.0
    return 1.0 if value * best < 0 else abs(best - value) / max(abs(best), abs(value))


def leaderboard(comparison: Comparison) -> str:
    """Return as Markdown the solvers, least primal integral first, and each one's value and bound on each problem."""
    order, limits = sorted(summary(comparison), key=lambda one: one["primal_integral"]), comparison.limits
    labels, found = [one["solver"] for one in order], {(row.case, row.solver): row for row in comparison.rows}
    lines = [["solver", *(name.replace("_", " ") for name in _FIGURES)], ["---"] * (len(_FIGURES) + 1)]
    lines += [[one["solver"], *(f"{one[name]:.3g}" for name in _FIGURES)] for one in order]
    lines += [[], ["problem", "best value", "proven bound", *labels], ["---"] * (len(labels) + 3)]
    for facts in comparison.facts:
        rows = [found.get((facts.name, label)) for label in labels]
        cells = ["" if row is None else f"{shown(row.value)} / {shown(row.reported_bound)}" for row in rows]
        lines.append([facts.name, shown(facts.best_value), shown(facts.proven_bound), *cells])
    text = "".join(f"| {' | '.join(line)} |\n" if line else "\n" for line in lines)
    return f"{limits.seconds:g} s for each solver and problem; threads: {limits.threads}\n\n{text}"


def _facts(comparison: Comparison, row: Row) -> CaseFacts:
    return next(facts for facts in comparison.facts if facts.name == row.case)


def _row(row: Row, facts: CaseFacts) -> dict[str, Any]:
    """Return a row with its gaps to the bound that its solver states and to the tightest proven one."""
    return {
        **asdict(row),
        "at_mark": [{"seconds": seconds, "value": known} for seconds, known in row.at_mark],
        "trajectory": [{"seconds": seconds, "value": known} for seconds, known in row.trajectory],
        "reported_gap": facts.gap(row.value, row.reported_bound),
        "own_proven_bound": row.proven_bound,
        "proven_bound": facts.proven_bound,
        "proven_gap": facts.gap(row.value, facts.proven_bound),
        "best_value": facts.best_value,
    }
