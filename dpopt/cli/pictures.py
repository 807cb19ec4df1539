"""Pictures in one style, in files that are there whole or not at all: of released counts, polynomials and comparisons.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; lines differ in dashes or marks as well, so
that they differ in print. Nothing of the truth is in a picture of released counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.files.written_files import check_replaceable, whole_file

if TYPE_CHECKING:
    from dpopt.comparison.parts import Comparison
    from dpopt.comparison.tables import Profile
    from dpopt.polynomials import Polynomial, Target
    from dpopt.queries.ranges.bins import Bins
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.intervals.partition_release import PartitionRelease


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_MARKERS = "osD^vPX*"
_BEGINNINGS = {"svg": b"<?xml", "png": b"\x89png", "pdf": b"%pdf"}
FORMATS = tuple(f".{kind}" for kind in _BEGINNINGS)


@contextmanager
def picture(path: Path, size: tuple[float, float], rows: int = 1, columns: int = 1, **shared: Any) -> Iterator[Any]:
    """Yield the panels of a figure of this size in inches; write it as .svg, .pdf or .png once they are drawn."""
    import matplotlib.style
    from matplotlib.figure import Figure

    kind = path.suffix[1:] if path.suffix in FORMATS else "png"
    check_replaceable(path, _BEGINNINGS[kind], f"picture ({kind})")
    with matplotlib.style.context("dpopt.cli.pictures"):
        figure = Figure(figsize=size, layout="constrained")
        yield figure.subplots(rows, columns, squeeze=False, **shared)
        # Neither dates nor versions, so that the same figures give the same file.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
        with whole_file(path) as stream:
            figure.savefig(stream, format=kind, dpi=120, metadata=metadata)


def series(number: int) -> dict[str, Any]:
    """Return colour and mark of a series of points; 56 series differ."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5}


def logarithmic(axis: Any, values: Sequence[float] | None = None) -> None:
    """Make an axis logarithmic, with plain labels at these values, or at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = sorted(axis.get_view_interval())
    few = high < 50 * max(low, 1e-300)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)) if values is None else FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def _plain(value: float) -> str:
    return f"{value:,g}" if 1e-4 <= value < 1e6 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def draw_polynomial(polynomial: Polynomial, target: Target, path: Path) -> None:
    """Draw a polynomial on [0, k] as PNG; bars show how large errors are where they count."""
    from dpopt.polynomials.targets import floats

    counted = np.array([s for s, weight in enumerate(target.weights) if weight])
    weights = floats([target.weights[s] for s in counted])
    values = floats(target.values)
    error, at = polynomial.error(target), floats([polynomial.at(s) for s in range(target.width + 1)])
    (size,) = floats([error.value])
    curve = np.linspace(0, target.width, 50 * target.width + 1)
    with picture(path, (8, 4)) as ((axes,),):
        axes.plot(curve, polynomial.evaluate(curve), color="C0", label=f"polynomial of degree {polynomial.degree}")
        axes.errorbar(
            counted,
            values[counted],
            yerr=size / weights,
            fmt="k.",
            ecolor="lightgrey",
            capsize=3,
            label=f"{target.name}, error at most {size:.4g}",
        )
        largest = np.array(error.points)
        axes.plot(largest, at[largest], "o", color="C3", mfc="none", label="largest error")
        span = np.concatenate([values[counted], at])
        margin = 0.15 * max(float(np.ptp(span)), 0.1)
        axes.set(xlabel="true literals s", ylabel="p(s)", ylim=(float(span.min()) - margin, float(span.max()) + margin))
        axes.legend()


def draw_comparison(rows: Sequence[Mapping[str, Any]], target: str, path: Path) -> None:
    """Draw errors and largest coefficients of constructions against their degree; errors of 0 are left out."""
    names = list(dict.fromkeys(row["construction"] for row in rows))
    with picture(path, (9, 4), 1, 2) as ((left, right),):
        for place, name in enumerate(names):
            own = [row for row in rows if row["construction"] == name]
            degrees = [row["degree_limit"] for row in own]
            left.plot(degrees, [row["error_as_float"] or np.nan for row in own], label=name, **series(place))
            right.plot(degrees, [row["largest_binomial"] for row in own], label=name, **series(place))
        left.set(xlabel="degree", ylabel=f"largest error, {target}", yscale="log")
        right.set(xlabel="degree", ylabel="largest coefficient of C(s, j)", yscale="log")
        left.legend()


def draw_errors(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw predicted mean errors against epsilon, with trivial baselines and the protection of each.

    The path ends with the format.
    """
    if path.suffix not in FORMATS:
        raise PlanError(f"the picture of errors ends with .svg, .png or .pdf; found {path.name!r}")
    epsilons = [row["epsilon"] for row in rows]
    with picture(path, (7, 4.2)) as ((axes,),):
        axes.plot(epsilons, [row["mean_error"] for row in rows], "o-", label="this plan")
        if all(row["low"] is not None for row in rows):
            low, high = ([row[name] for row in rows] for name in ("low", "high"))
            axes.fill_between(epsilons, low, high, alpha=0.2, label="nine of ten public tables")
        for name, style in zip(rows[0]["baselines"], ("--", ":", "-."), strict=False):
            axes.plot(epsilons, [row["baselines"][name]["mean_error"] for row in rows], style, label=name)
        said = "epsilon; below it: people of 100 whom an attacker can identify\nwho is wrong about 5 % of outsiders"
        axes.set(xlabel=said, ylabel="predicted mean error of an answer")
        logarithmic(axes.xaxis, epsilons)
        axes.set_xticks(epsilons, [f"{row['epsilon']:g}\n{row['found_of_100']:.3g}" for row in rows])
        logarithmic(axes.yaxis)
        axes.legend()


def draw_sweep(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw cost, predicted mean error and seconds of plans over the first of rounds, draws and steps that varies."""
    words = {"rounds": "rounds T", "draws": "draws s", "step": "step eta"}
    rows = [row for row in rows if row.get("refused") is None]
    varied = [name for name in words if len({row[name] for row in rows}) > 1] or ["rounds"]
    across, others = varied[0], varied[1:]
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        lines.setdefault(", ".join(f"{words[name]} = {row[name]:g}" for name in others), []).append(row)
    shown = {"epsilon": "epsilon", "mean_error": "predicted mean error", "seconds": "seconds of the rounds"}
    shown = {name: label for name, label in shown.items() if any(row[name] is not None for row in rows)}
    with picture(path, (3.7 * len(shown), 3.8 + 0.07 * len(lines)), 1, len(shown)) as (panels,):
        for panel, (name, label) in zip(panels, shown.items(), strict=True):
            for number, (said, line) in enumerate(lines.items()):
                values = [np.nan if row[name] is None else row[name] for row in line]
                panel.plot([row[across] for row in line], values, **series(number), label=said)
            panel.set(xlabel=words[across], ylabel=label)
            logarithmic(panel.xaxis, sorted({float(row[across]) for row in rows}))
            logarithmic(panel.yaxis)
        if others:  # below the panels: within one it would hide lines
            panels[0].figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def draw_rounds(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw over the rounds the value of each record and its bounds, divided by the draws."""
    with picture(path, (8, 4)) as ((axes,),):
        for name, style in {"proven_bound": ":", "reported_bound": "--", "value": "-"}.items():
            points = [(row["round"], row[name] / row["draws"]) for row in rows if row[name] is not None]
            axes.plot(*zip(*points or [(1, np.nan)], strict=True), style, label=name.replace("_", " "))
        axes.set(xlabel="round", ylabel="worth of the record per draw")
        axes.legend()


def draw_releases(rounds: Sequence[Mapping[str, Any]], errors: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw releases of a public table by several solvers: worth of the records by round, and error by rounds."""
    with picture(path, (9, 4), 1, 2) as ((worth, error),):
        for number, label in enumerate(dict.fromkeys(row["compared"] for row in rounds)):
            own = [row for row in rounds if row["compared"] == label]
            worth.plot([row["round"] for row in own], [row["value"] / row["draws"] for row in own], label=label)
            points = [(row["rounds"], row["mean_error"]) for row in errors if row["compared"] == label]
            error.plot(*zip(*points, strict=True), **series(number), label=label)
        worth.set(xlabel="round", ylabel="worth of the record per draw")
        error.set(xlabel="rounds", ylabel="mean error on the table", xscale="log")
        error.legend()


_LEAST_SECONDS = 0.01
_MOST_PER_CENT = 20.0


def draw_profiles(comparison: Comparison, path: Path) -> None:
    """Draw share of cases over time and over distance, one step curve for each solver, as PNG."""
    from dpopt.comparison.tables import WITHIN, profile_over_distance, profile_over_time

    seconds = comparison.limits.seconds or 1.0
    with picture(path, (10, 4.2), 1, 2, sharey=True) as ((left, right),):
        _steps(left, profile_over_time(comparison), _LEAST_SECONDS, seconds)
        left.set_xscale("log")
        left.set(
            xlabel="seconds",
            ylabel="share of cases",
            title=f"within {WITHIN:g} % of the best known value",
            ylim=(-0.02, 1.05),
        )
        _steps(right, profile_over_distance(comparison), 0.0, _MOST_PER_CENT)
        right.set(
            xlabel="per cent below the best known value", title=f"final value, limit {seconds:g} s", xlim=(0, None)
        )
        right.set_xscale("symlog", linthresh=0.1)
        right.legend(loc="lower right")


def _steps(axes: Any, profile: Profile, first: float, last: float) -> None:
    """Draw each solver's curve from the first to the last place; solvers that coincide differ in their dashes."""
    for label, points in zip(profile.labels, profile.points, strict=True):
        places = np.concatenate(([first], np.clip(points, first, None), [max(last, first)]))
        shares = np.concatenate(([0], np.arange(1, points.size + 1), [points.size])) / max(1, profile.cases)
        inside = places <= last
        axes.step(places[inside], shares[inside], where="post", label=label)


_MOST_EDGES = 2_000  # boxes whose edges are drawn


def draw_partition(released: PartitionRelease, path: Path) -> None:
    """Draw the density of the intervals or boxes, as PNG; nothing of the truth is in it."""
    if len(released.axes) > 2:
        raise PlanError(
            f"a picture shows one or two columns, and this release has {len(released.axes)}; export a .csv file instead"
        )
    partition = released.partition
    density = released.weights / partition.volumes
    with picture(path, (9, 4) if len(released.axes) == 1 else (7, 6)) as ((axes,),):
        places = [labelled_bins(bins) for bins in released.axes]
        if len(released.axes) == 1:
            edges = np.append(partition.starts[:, 0], partition.stops[-1, 0])
            axes.stairs(density, edges, fill=True, alpha=0.4)
            axes.stairs(density, edges)
            axes.set_xticks(places[0][0] + 0.5, places[0][1], rotation=30, ha="right")
            axes.set(xlabel=released.axes[0].name, ylabel="records in each bin")
        else:
            from matplotlib.collections import PolyCollection

            low, high = (partition.starts[:, ::-1], partition.stops[:, ::-1])  # the second column goes to the right
            ends = (low, np.stack((high[:, 0], low[:, 1]), axis=1), high, np.stack((low[:, 0], high[:, 1]), axis=1))
            drawn = PolyCollection(
                list(np.stack(ends, axis=1)),
                array=np.log10(np.maximum(density, 1e-6)),
                edgecolors="white" if len(partition) <= _MOST_EDGES else "face",
                linewidths=0.3,
            )
            axes.add_collection(drawn)
            axes.figure.colorbar(drawn, ax=axes, label="log10 of the records in each cell")
            rows, columns = released.axes
            axes.set_xticks(places[1][0] + 0.5, places[1][1], rotation=30, ha="right")
            axes.set_yticks(places[0][0] + 0.5, places[0][1])
            axes.set(xlabel=columns.name, ylabel=rows.name, xlim=(0, columns.number), ylim=(0, rows.number))


def draw_grid(histogram: GridHistogram, path: Path, estimate: str | None = None) -> None:
    """Draw the counts of the cells and their standard errors side by side, as PNG."""
    if len(histogram.axes) != 2:
        raise PlanError(
            f"a picture shows two columns, and this histogram has {len(histogram.axes)}; export a .csv file instead"
        )
    shape = histogram.plan.shape
    cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1).astype(np.int64)
    errors = np.array([answer.standard_error for answer in histogram.boxes_from(cells, cells + 1)])
    with picture(path, (12, 5), 1, 2, sharex=True, sharey=True) as (sides,):
        shown = (
            ("records in each cell", histogram.estimate(estimate)),
            ("standard error by least squares", errors.reshape(shape)),
        )
        rows, columns = histogram.axes
        for axes, (title, values) in zip(sides, shown, strict=True):
            image = axes.imshow(values, origin="lower", aspect="auto", interpolation="nearest")
            axes.figure.colorbar(image, ax=axes)
            axes.grid(visible=False)
            axes.set(title=title, xlabel=columns.name)
            for bins, ticks, turned in ((columns, axes.set_xticks, 30), (rows, axes.set_yticks, 0)):
                places, labels = labelled_bins(bins)
                ticks(places, labels, rotation=turned, ha="right")
        sides[0].set_ylabel(rows.name)


_MOST_DRAWN = 512


def draw_histogram(histogram: Histogram, path: Path, *, estimate: str | None) -> None:
    """Draw an estimate, neighbouring bins joined where there are more than 512, with intervals of 95 %, as PNG."""
    number = histogram.bins.number
    edges = np.unique(np.linspace(0, number, min(number, _MOST_DRAWN) + 1).round().astype(int))
    pairs = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    answers = histogram.ranges(pairs, estimate=estimate)
    with picture(path, (9, 4)) as ((axes,),):
        axes.stairs([answer.value for answer in answers], edges, color="C0", label="released")
        axes.stairs(
            [answer.high for answer in answers],
            edges,
            baseline=np.array([answer.low for answer in answers]),
            fill=True,
            color="C0",
            alpha=0.25,
            label="95 % interval",
        )
        places, labels = labelled_bins(histogram.bins)
        axes.set_xticks(places + 0.5, labels, rotation=30, ha="right")
        joined = -(-number // (len(edges) - 1))
        each = "bin" if joined == 1 else f"{joined} bins"
        axes.set(
            xlabel=histogram.bins.name,
            ylabel=f"records in each {each}",
            ylim=(min(0.0, *(answer.value for answer in answers)), None),
        )
        axes.legend()


_MOST_LABELS = 12


def labelled_bins(bins: Bins) -> tuple[NDArray[np.int64], list[str]]:
    """Return the positions of at most 12 bins from the first to the last, evenly spread, and their labels."""
    places = np.linspace(0, bins.number - 1, min(bins.number, _MOST_LABELS)).round().astype(np.int64)
    return places, [bins.label(place) for place in places.tolist()]
