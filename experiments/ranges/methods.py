"""What is compared: OpenDP's consistent trees, single bins alone, and dpopt's histograms; pure epsilon, add-remove."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram

Release = Callable[[NDArray[np.int64]], NDArray[np.float64]]
PEERS = ("OpenDP tree, 2 children", "OpenDP tree, 16 children", "single bins", "single bins, not negative")


def methods(bins: int, epsilon: float, sizes: tuple[int, ...]) -> Iterator[tuple[str, Release]]:
    """Yield each method's name and how it releases counts, (n,) to (n,)."""
    yield PEERS[0], _opendp_tree(bins, 2, epsilon)
    yield PEERS[1], _opendp_tree(bins, 16, epsilon)
    single = _opendp_bins(epsilon)
    yield PEERS[2], single
    yield PEERS[3], lambda counts: np.maximum(single(counts), 0.0)
    yield "dpopt, all sizes", _dpopt(bins, epsilon, "sizes:" + ",".join(map(str, sizes)))
    for size in sizes:
        yield f"dpopt, sizes:{size}", _dpopt(bins, epsilon, f"sizes:{size}")
    yield "dpopt, all", _dpopt(bins, epsilon, "all")


def _dpopt(bins: int, epsilon: float, ranges: str) -> Release:
    plan = plan_blocks(bins, Budget(epsilon, 0.0, None, Accountant.PURE), ranges=ranges)
    return lambda counts: release_histogram(BinCounts.from_counts(counts), plan).counts


def _opendp_tree(bins: int, children: int, epsilon: float) -> Release:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    domain, metric = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    tree = opendp.t.make_b_ary_tree(domain, metric, leaf_count=bins, branching_factor=children)
    measurement = opendp.binary_search_chain(
        lambda scale: tree >> opendp.m.then_laplace(scale=scale), d_in=1, d_out=epsilon
    )
    consistent = opendp.t.make_consistent_b_ary_tree(children)
    return lambda counts: np.asarray(consistent(measurement(counts.tolist())), dtype=np.float64)


def _opendp_bins(epsilon: float) -> Release:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    domain, metric = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    measurement = opendp.m.make_laplace(domain, metric, scale=1.0 / epsilon)
    return lambda counts: np.asarray(measurement(counts.tolist()), dtype=np.float64)
