"""Mathematics becomes a program: one file per model of the catalogue in models/.

In       queries, and values that the curator released (`SampledQueries`).
Out      programs (`MaxCsp`, `MixedIntegerProgram`), and readings of results (`read_record`).
Imports  `dpopt.errors`, `dpopt.queries`, `dpopt.transcript`, `dpopt.programs`; numpy. No solver, no records.
Next     a new model: its page models/<name>/README.md with labelled formulas first, then one file here whose comments
         carry the same labels; tests/models keeps the two in step. A solver-independent reading goes beside it.
"""

from __future__ import annotations

from dpopt.formulations.as_mip import AsMip, accepting_max_csp
from dpopt.formulations.best_response import best_response
from dpopt.formulations.formulation import Formulation
from dpopt.formulations.max_csp_as_mip import max_csp_as_mip
from dpopt.formulations.max_csp_points import point_from_record, record_from_point
from dpopt.formulations.pairwise_lifting import pairwise_lifting
from dpopt.formulations.presolved import Presolved
from dpopt.formulations.reading import read_record

__all__ = [
    "AsMip",
    "Formulation",
    "Presolved",
    "accepting_max_csp",
    "best_response",
    "max_csp_as_mip",
    "pairwise_lifting",
    "point_from_record",
    "read_record",
    "record_from_point",
]
