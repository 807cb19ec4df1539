"""Tables on ranges: Figure 6, Theorem 4 and Appendix E."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.documents import captioned, figure
from experiments.hay_2010 import universal as histograms
from experiments.hay_2010.theory import USEFULNESS, largest_error_bound, records_of_blum

Result = dict[str, Any]


def range_tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield the errors by size of range, what the paper says of them, and the largest errors of any range."""
    yield "**Figure 6**: mean squared error by size of range (`range_errors.svg`)"
    yield ""
    for result in results:
        yield from captioned(
            f"{result['set']}: {result['bins']:,} bins (l = {result['levels']}), {result['empty']:.0%} empty, "
            f"{result['records']:,} records, epsilon {result['epsilon']:g}",
            ["method", *(f"{size:,}" for size in result["sizes"])],
            ([name, *map(figure, row)] for name, row in result["errors"].items()),
        )
    yield from _claims(results)
    yield from _largest(results)


def _claims(results: Sequence[Result]) -> Iterator[str]:
    rows = []
    for result in results:
        errors, sizes = result["errors"], result["sizes"]
        single, tree, zeroed = (errors[name] for name in (histograms.SINGLE, histograms.TREE, histograms.ZEROED))
        large = slice(-min(5, len(sizes)), None)
        cells = [result["set"], f"{result['epsilon']:g}", _better_from(sizes, tree, single)]
        cells += [f"{single[-1] / tree[-1]:.2g}", _better_from(sizes, zeroed, single)]
        cells += [f"{zeroed[0] / single[0]:.2g}"]
        cells += [_lowered(row[large], tree[large]) for row in (errors[histograms.LEAST_SQUARES], zeroed)]
        cells += [_lowered(zeroed[large], single[large])]
        cells += [
            _spread([one / other for one, other in zip(errors[name], zeroed, strict=True)])
            for name in (histograms.DEFAULT, histograms.DEFAULT_SIZES)
        ]
        rows.append(cells)
    yield from captioned(
        'What the paper says of Figure 6, here ("wide": the largest five sizes; of several sizes the least and largest):',
        [
            "set | epsilon | H~ better than L~ from size | L~ / H~ at the largest size",
            "H-bar, zeroed, better than L~ from size | H-bar, zeroed / L~, single bins",
            "wide: H-bar lower than H~ by | wide: H-bar, zeroed, lower than H~ by",
            "wide: H-bar, zeroed, lower than L~ by",
            "dpopt, all / H-bar, zeroed, all sizes | dpopt, sizes / H-bar, zeroed, all sizes",
        ],
        rows,
    )
    ratios = [
        measured / exact
        for result in results
        for name, row in result["exact"].items()
        for measured, exact in zip(result["errors"][name], row, strict=True)
    ]
    yield (
        f"Measured over exact mean variance of L~, H~ and H-bar, over all sets, budgets and sizes: {min(ratios):.3f} "
        f"to {max(ratios):.3f}."
    )
    yield ""


def _largest(results: Sequence[Result]) -> Iterator[str]:
    yield "**Appendix E**: largest absolute error of any of the n (n + 1) / 2 ranges"
    yield ""
    names = [
        histograms.TREE,
        histograms.SINGLE,
        histograms.LEAST_SQUARES,
        histograms.ZEROED,
        histograms.DEFAULT,
        histograms.DEFAULT_SIZES,
    ]
    rows = []
    for result in results:
        bound = largest_error_bound(result["bins"], result["epsilon"])
        largest = [result["largest"][name] for name in names]
        cells = [result["set"], f"{result['bins']:,}", f"{result['epsilon']:g}", figure(bound)]
        cells += [f"{bound / largest[0]['exceeded_by_1_in_20']:.2g}"]
        rows.append([*cells, *(f"{figure(row['exceeded_by_1_in_20'])} ({figure(row['most'])})" for row in largest)])
    yield from captioned(
        "The bound is that of H~ for 19 draws of 20; beside it what 1 draw in 20 exceeds, in brackets the largest of "
        "all draws.",
        ["set | bins | epsilon | bound | bound / H~", *names],
        rows,
    )
    yield from _useful(results)


def _useful(results: Sequence[Result]) -> Iterator[str]:
    seen, rows = set(), []
    for result in results:
        bins, epsilon = result["bins"], result["epsilon"]
        if (bins, epsilon) in seen:
            continue
        seen.add((bins, epsilon))
        for share in USEFULNESS:
            sure = largest_error_bound(bins, epsilon) / share
            found = result["largest"][histograms.TREE]["exceeded_by_1_in_20"] / share
            other = records_of_blum(bins, epsilon, share)
            figures = (f"{number:,.3g}" for number in (sure, found, other, other / sure))
            rows.append([f"{bins:,}", f"{epsilon:g}", f"{share:g}", *figures])
    yield from captioned(
        "Records from which every range is answered within a share u of them, in 19 draws of 20 (Blum et al.: the form "
        "of their bound, with the constant 1):",
        ["bins | epsilon | u | H~, guaranteed | H~, measured | Blum et al., form | form / guaranteed"],
        rows,
    )


def theorem_4_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the variances of all bins but the first and the last."""
    rows = []
    for row in results:
        cells = [f"{row['levels']}", f"{row['nodes']:g}", f"{row['inferred']:.4f}", f"{row['ratio']:.2f}"]
        cells += [f"{row['guaranteed']:.2f}"]
        drawn = row.get("drawn")
        rows.append([*cells, f"{drawn['ratio']:.2f} ({drawn['draws']:,} draws)" if drawn else ""])
    caption = "**Theorem 4 (iv)**: all bins but the first and the last, k = 2; variances in units of a node's"
    yield from captioned(caption, ["l | H~ | H-bar | H~ / H-bar | guaranteed | measured"], rows)


def _better_from(sizes: Sequence[int], errors: Sequence[float], others: Sequence[float]) -> str:
    """Return the first size from which on all errors are below the others."""
    worse = [place for place, (one, other) in enumerate(zip(errors, others, strict=True)) if one >= other]
    first = worse[-1] + 1 if worse else 0
    return f"{sizes[first]:,}" if first < len(sizes) else "none"


def _lowered(errors: Sequence[float], others: Sequence[float]) -> str:
    lowered = [1.0 - one / other for one, other in zip(errors, others, strict=True)]
    return f"{min(lowered):.0%} to {max(lowered):.0%}"


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.2g} to {max(values):.2g}"
