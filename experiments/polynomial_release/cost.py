"""Time, memory and size of whole releases, against how many conjunctions are counted and how many queries there are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

from experiments.polynomial_release.releases import plan_for
from experiments.polynomial_release.tables import MADE_UP, Bits, made_up
from experiments.runs import run_dpopt

Result = dict[str, Any]
COLUMNS = (10, 15, 20, 30, 40, 50, 70, 100)
WIDTHS = (4, 6, 8)
RECORDS = 1_000_000
MOST = 1_000_000
"""Conjunctions in all: a release of more is not run."""
QUICK_COLUMNS, QUICK_WIDTHS, QUICK_RECORDS = (8,), (3,), 500


def measure(rho: float, *, quick: bool, known: Sequence[Result]) -> Iterator[Result]:
    """Yield one result for each number of columns and conditions that is not known yet.

    Each is a process of `dpopt summary release` on a Parquet file, from its start to its end. One more comes first: it compiles
    kernels.
    """
    columns, widths = (QUICK_COLUMNS, QUICK_WIDTHS) if quick else (COLUMNS, WIDTHS)
    records = QUICK_RECORDS if quick else RECORDS
    done = {(one["attributes"], one["k"]) for one in known}
    table = Bits(MADE_UP, made_up(max(columns), records), ())
    plans = [
        (sum(comb(attributes, size) for size in plan.sizes), width, attributes, plan)
        for attributes, width in product(columns, widths)
        for plan in (plan_for(Bits(MADE_UP, table.bits[:attributes], ()), width, "or", rho),)
    ]
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        folder = Path(place)
        path, schema = table.write(folder)
        if not quick:
            _release(path, schema, folder, min(columns), min(widths), rho)
        for counted, width, attributes, plan in sorted(plans, key=lambda one: one[:3]):
            if counted <= MOST and (attributes, width) not in done:
                yield {
                    "records": records,
                    "attributes": attributes,
                    "k": width,
                    "degree": plan.sizes[-1],
                    "counted": counted,
                    "queries_of_k": comb(attributes, width),
                    "predicted": plan.predicted,
                    **_release(path, schema, folder, attributes, width, rho),
                }


def _release(path: Path, schema: Path, folder: Path, attributes: int, width: int, rho: float) -> Result:
    out = folder / "summary.npz"
    out.unlink(missing_ok=True)
    names = ",".join(f"b{place}" for place in range(attributes))
    command = ["summary", "release", str(path), "--schema", str(schema), "--columns", names]
    command += ["--k", str(width), "--predicate", "or", "--literals", "positive", "--neighbours", "replace"]
    process = run_dpopt([*command, "--rho", repr(rho), "--delta", "1e-9", "-o", str(out)])
    return {
        "seconds": round(process.seconds, 2),
        "processor_seconds": round(process.processor_seconds, 2),
        "peak_mb": round(process.peak_bytes / 1e6),
        "bytes": out.stat().st_size,
    }
