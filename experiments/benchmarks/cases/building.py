"""Writing 100,000 clauses as a mixed-integer program, and the program as MPS text."""

from __future__ import annotations

import time

import numpy as np

from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mps import mps_text
from dpopt.queries.clauses import Clauses
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread

MASKS = {"conjunctions": [0b1000], "every kind": [0b1000, 0b0111, 0b1010, 0b0101, 0b1100, 0b1110, 0b1001]}
"""Masks of three literals: all; not all, an odd or an even number, at least two, at least one, none or all."""


@case("How many seconds does it take to write 100,000 clauses as a mixed-integer program, and that as MPS text?")
def building(setting: Setting) -> Result:
    """Measure three-way clauses over 40 attributes of 10 codes, weights of both signs, in every formulation."""
    rows, bars = [], []
    for kind, masks in MASKS.items():
        program = _clauses(setting.pick(100_000, 300), masks)
        for formulation in Formulation:
            build, write = [], []
            for _ in range(setting.runs + setting.warm_up):
                started = time.perf_counter()
                mip = max_csp_as_mip(program, formulation)
                built = time.perf_counter()
                text = mps_text(mip)
                build.append(built - started)
                write.append(time.perf_counter() - built)
            kept = slice(1 if setting.warm_up else 0, None)
            seconds = {"building, seconds": spread(build[kept]), "MPS text, seconds": spread(write[kept])}
            rows.append(
                {
                    "clauses": kind,
                    "formulation": formulation.value,
                    "rows": mip.number_of_rows,
                    "entries": mip.columns.size,
                    **seconds,
                    "MPS text, MB": round(len(text) / 1e6, 1),
                }
            )
            name = f"{kind}, {formulation.value}"
            bars += [Bar(f"{name}: {what}, median", taken["median"], 1.0) for what, taken in seconds.items()]
    return Result(rows, bars)


def _clauses(number: int, masks: list[int]) -> MaxCsp:
    """Return made-up clauses of three literals with these masks."""
    generator = np.random.default_rng(7)
    attributes = np.argsort(generator.random((number, 40)), axis=1)[:, :3].astype(np.int32)
    clauses = Clauses(
        attributes,
        generator.integers(0, 10, size=(number, 3)).astype(np.int32),
        generator.random((number, 3)) < 0.5,
        generator.choice(np.array(masks, dtype=np.uint32), size=number),
    )
    weights = np.where(generator.random(number) < 0.5, -1, 1)
    return MaxCsp(np.full(40, 10, dtype=np.int32), clauses, weights)
