"""`python -m experiments.pictures`: draw every picture again from the results on file; nothing is measured."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from experiments.accuracy_leader.picture import draw as draw_leader
from experiments.approximate_degree.picture import draw as draw_degrees
from experiments.benchmarks.cases import growth, random_bits
from experiments.distributional_privacy.__main__ import draw as draw_neighbours
from experiments.documents import rows
from experiments.error_falls.__main__ import draw as draw_falls
from experiments.figure5.picture import draw as draw_figure5
from experiments.formulation_strength.__main__ import draw as draw_gaps
from experiments.front.__main__ import draw as draw_front
from experiments.halfspaces.picture import draw as draw_halfspaces
from experiments.hay_2010.pictures import draw as draw_hay
from experiments.intervals.picture import draw as draw_intervals
from experiments.papers import HERE
from experiments.polynomial_release.picture import draw as draw_cost
from experiments.portfolio.__main__ import draw as draw_portfolio
from experiments.rules_cost_nothing.__main__ import draw as draw_rules
from experiments.wide_data.pictures import draw as draw_wide


def main() -> int:
    """Draw all of them."""
    draw_leader(_results("accuracy_leader")["results"], HERE / "accuracy_leader" / "errors.svg")
    draw_degrees(_results("approximate_degree"), HERE / "approximate_degree" / "degrees.svg")
    cases = _results("benchmarks")["cases"]
    growth.draw(cases["growth"]["rows"], growth.PLOT)
    random_bits.draw(cases["random_bits"]["rows"], random_bits.PLOT)
    draw_neighbours(HERE / "distributional_privacy" / "two_neighbours.svg")
    draw_falls(_results("error_falls")["rows"], HERE / "error_falls" / "errors.svg")
    draw_figure5(_results("figure5")["results"], HERE / "figure5" / "figure5.svg")
    draw_front(_results("front")["results"][0], HERE / "front" / "front.svg")
    draw_gaps(_gaps(), HERE / "formulation_strength" / "gaps.svg")
    draw_halfspaces(_results("halfspaces")["results"], HERE / "halfspaces" / "errors.svg")
    draw_hay(_results("hay_2010"), HERE / "hay_2010")
    draw_intervals(_results("intervals")["curves"], HERE / "intervals" / "errors.svg")
    draw_cost(_results("polynomial_release")["cost"], HERE / "polynomial_release" / "cost.svg")
    draw_portfolio(_results("portfolio"), HERE / "portfolio")
    draw_rules(_rules(), HERE / "rules_cost_nothing" / "errors.svg")
    draw_wide(_results("wide_data")["results"], HERE / "wide_data")
    return 0


def _results(experiment: str) -> Any:
    return json.loads((HERE / experiment / "results.json").read_text(encoding="utf-8"))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", text.replace(",", ""))]


def _gaps() -> dict[str, Any]:
    """Return what the table of gaps holds, with a best value of 0 and one draw, so that a bound is a gap."""
    names = ("aggregated", "per-literal", "clique", "pairwise lifting")
    found = [row for row in rows(HERE / "formulation_strength" / "README.md") if "pairwise lifting" in row]
    return {
        "roots": [
            {
                "table": row["table"],
                "round": int(row["round"]),
                "best": 0,
                "draws": 1,
                "bounds": {name: _numbers(row[name])[0] for name in names},
            }
            for row in found
        ]
    }


def _rules() -> list[dict[str, Any]]:
    found = []
    for row in rows(HERE / "rules_cost_nothing" / "README.md"):
        broken, total = _numbers(row["rows that break a rule"])
        error = dict(zip(("median", "least", "largest"), _numbers(row["mean error"]), strict=True))
        about = {"table": row["table"], "variant": row["rules"], "rows": total, "mean_error": error}
        found.append({**about, "violations": {"median": broken}})
    return found


if __name__ == "__main__":
    sys.exit(main())
