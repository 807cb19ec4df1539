"""Mathematics becomes a program: one file per model of the catalogue in models/.

In       queries, and values that the curator released (`SampledQueries`).
Out      programs (`MaxCsp`, `MixedIntegerProgram`), and readings of results (`read_record`).
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.transcript`, `dpopt.programs`; numpy, scipy.sparse. No solver, no records.
Next     a new model: its page models/<name>/README.md with labelled formulas first, then one file here whose comments
         carry the same labels; tests/models keeps the two in step. A solver-independent reading goes beside it.

| file | what it holds |
|---|---|
| halfspace_debiasing.py | biased estimates from random projections, combined for the least worst bias |
| best_responses/ | the best response to weighted queries, as programs, with bounds |
| histograms/ | what `dpopt.inference.histograms` solves fast, as programs |
| noise_budgets/ | how much of a budget each measurement gets |
| polynomials/ | polynomials near given values, and those that answer queries |
| records/ | records and weights of records from answers |
"""

from __future__ import annotations

from dpopt.models.best_responses.best_response import read_record, round_program
from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.max_csp_as_mip import (
    AsMip,
    accepting_max_csp,
    max_csp_as_mip,
    point_from_record,
    record_from_point,
)
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.models.best_responses.presolved import Presolved

__all__ = [
    "AsMip",
    "Formulation",
    "Presolved",
    "accepting_max_csp",
    "max_csp_as_mip",
    "pairwise_lifting",
    "point_from_record",
    "read_record",
    "record_from_point",
    "round_program",
]
