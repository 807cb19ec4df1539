"""The picture: least degrees against (k ln(1 / error))^(1/2), and the closed form beside them."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from typing import Any


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the degrees of OR of the table, and of small errors, as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    table = next(one for one in report["degrees"] if one["predicate"] == "or")
    for number, (error, rows) in enumerate(table["rows"].items()):
        roots = [sqrt(width * log(1 / Fraction(error))) for width, _, _ in rows]
        left.plot(
            roots,
            [degree for _, degree, _ in rows],
            ".",
            color=f"C{number}",
            label=f"error {float(Fraction(error)):g}",
        )
    left.axline((0, 0), slope=1, color="grey", linewidth=0.8)
    left.set(xlabel="(k ln(1 / error))^(1/2)", ylabel="least degree", title="OR, k = 1..64")
    left.legend()
    for number, width in enumerate(dict.fromkeys(one["k"] for one in report["small_errors"])):
        rows = [one for one in report["small_errors"] if one["k"] == width]
        logs = [log(1 / Fraction(one["error"])) for one in rows]
        right.plot(
            logs,
            [one["degree"] for one in rows],
            "o-",
            color=f"C{number}",
            label=f"k = {width}, least degree",
        )
        right.plot(
            logs,
            [one["closed_form"] for one in rows],
            "x:",
            color=f"C{number}",
            label=f"k = {width}, closed form",
        )
    right.set(xlabel="ln(1 / error)", ylabel="degree", title="OR, small errors")
    right.legend()
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)


def draw_breakdown(report: dict[str, Any], path: Path) -> None:
    """Draw by how much solvers miss the least error of OR, as a share of it, by degree and basis, as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rows = [one for one in report["approximations"] if one["basis"] and one["predicate"] == "or"]
    bases = ("chebyshev", "binomial", "monomial")
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
    names, widths = (list(dict.fromkeys(one[key] for one in rows)) for key in ("method", "k"))
    for basis, panel in zip(bases, axes, strict=True):
        for color, name in enumerate(names):
            for width, marker in zip(widths, "osv", strict=False):
                mine = [
                    one for one in rows if (one["basis"], one["method"], one["k"]) == (basis, name, width)
                ]
                mine = [one for one in mine if one["distance"] is not None]
                panel.plot(
                    [one["degree"] for one in mine],
                    [max(one["distance"] / one["error"], 1e-16) for one in mine],
                    marker=marker,
                    color=f"C{color}",
                    linewidth=0.8,
                    label=f"{name}, k = {width}",
                )
        panel.axhline(0.01, color="grey", linewidth=0.8)
        panel.set(xlabel="degree", title=f"program in {basis} coefficients", yscale="log")
    axes[0].set_ylabel("error above the least, as a share of it")
    axes[0].legend(fontsize="x-small")
    figure.suptitle(
        "OR: polynomials of floating-point solvers, evaluated exactly; where a point is missing, a solver gave none"
    )
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)
