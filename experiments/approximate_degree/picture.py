"""The pictures: least degrees beside the closed form, and by how much solvers miss the least error."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import COLOURS, logarithmic, picture, series


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the degrees of OR of the table, and of small errors."""
    with picture(path, (9, 3.8), 1, 2) as ((left, right),):
        table = next(one for one in report["degrees"] if one["predicate"] == "or")
        for number, (error, rows) in enumerate(table["rows"].items()):
            roots = [sqrt(width * log(1 / Fraction(error))) for width, _, _ in rows]
            degrees = [degree for _, degree, _ in rows]
            left.plot(
                roots,
                degrees,
                linestyle="none",
                label=f"error {float(Fraction(error)):g}",
                **{**series(number), "markersize": 3},
            )
        left.axline((0, 0), slope=1, color="grey", linewidth=0.8)
        left.set(xlabel=r"$\sqrt{k\,\ln(1/\mathrm{error})}$", ylabel="least degree", title="OR of k = 1 to 64 bits")
        left.legend()
        for number, width in enumerate(dict.fromkeys(one["k"] for one in report["small_errors"])):
            rows = [one for one in report["small_errors"] if one["k"] == width]
            logs = [log(1 / Fraction(one["error"])) for one in rows]
            for name, line, title in (("degree", "-", "least degree"), ("closed_form", ":", "closed form")):
                degrees = [one[name] for one in rows]
                right.plot(logs, degrees, linestyle=line, label=f"k = {width}, {title}", **series(number))
        right.set(xlabel="ln(1 / error)", ylabel="degree", title="OR, small errors")
        right.legend()


def draw_breakdown(report: dict[str, Any], path: Path) -> None:
    """Draw by how much solvers miss the least error of OR, as a share of it, by degree and basis."""
    rows = [one for one in report["approximations"] if one["basis"] and one["predicate"] == "or"]
    names, widths = (list(dict.fromkeys(one[key] for one in rows)) for key in ("method", "k"))
    with picture(path, (11, 4.6), 1, 3, sharey=True) as panels:
        for basis, panel in zip(("chebyshev", "binomial", "monomial"), panels[0], strict=True):
            for number, name in enumerate(names):
                for width, line in zip(widths, ("-", "--", ":"), strict=False):
                    mine = [one for one in rows if (one["basis"], one["method"], one["k"]) == (basis, name, width)]
                    mine = [one for one in mine if one["distance"] is not None]
                    panel.plot(
                        [one["degree"] for one in mine],
                        [max(one["distance"] / one["error"], 1e-16) for one in mine],
                        linestyle=line,
                        linewidth=0.9,
                        label=f"{name}, k = {width}",
                        **series(number),
                    )
            panel.axhline(0.01, color=COLOURS[-1], linewidth=0.8, linestyle="-")
            panel.set(xlabel="degree", title=f"in {basis} coefficients")
            logarithmic(panel.yaxis)
        panels[0, 0].set_ylabel("error above the least, as a share of it")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        panels[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=5)
        panels[0, 0].figure.suptitle(
            "Polynomials of floating-point solvers for OR, evaluated exactly (no point: no polynomial)",
            fontsize="medium",
        )
