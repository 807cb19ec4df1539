"""What can be optimized, as plain arrays: problems, answers, certificates, and the contract of a solver.

In       arrays: domain sizes, clauses and weights; or an objective, a matrix, bounds.
Out      `MaxCsp`, `MixedIntegerProgram`, `QuadraticProgram`, `ConicProgram` (problems); `SolveResult` (what a solver reports);
         `Certificate` (what is true).
Next     a new kind of problem: one file here with its dataclass, its name in `Program` (solver.py) and a
         `Capability`; its text form beside mps.py. A new solver does not touch this room.

| file | what it holds |
|---|---|
| max_csp.py, mixed_integer.py, quadratic.py, conic.py | the problems; quadratic ones in other units |
| building.py | linear and quadratic programs built block by block, with names |
| text.py, mps.py, opb.py, weighted_cnf.py | programs as formulas, and as files: LP, MPS, pseudo-Boolean, MaxSAT |
| solver.py, results.py | the contract of a solver: capabilities, limits, what it reports |
| verification.py, certificate.py | what is true of an answer, computed outside the solver |
| duality.py | bounds by weak duality, in exact arithmetic |
| presolve.py | a `MaxCsp` made smaller, with the same optimum; its parts, small ones by enumeration |
| reduction.py | attributes and codes that cannot matter; the same for rules |
"""

from __future__ import annotations

from dpopt.programs.building import Block, Builder
from dpopt.programs.certificate import Certificate, PointCertificate, certify, certify_point, credible_bound
from dpopt.programs.conic import Cone, ConicProgram
from dpopt.programs.duality import dual_bound, linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import mps_text, write_mps
from dpopt.programs.presolve import Presolve, presolve
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import NO_LIMITS, Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program, Solver, why_refused
from dpopt.programs.verification import verified

__all__ = [
    "NO_LIMITS",
    "Availability",
    "AvailabilityStatus",
    "Block",
    "Builder",
    "Capability",
    "Certificate",
    "Cone",
    "ConicProgram",
    "Limit",
    "MaxCsp",
    "MixedIntegerProgram",
    "Point",
    "PointCertificate",
    "Presolve",
    "Program",
    "Progress",
    "QuadraticProgram",
    "Reduction",
    "SolveLimits",
    "SolveResult",
    "Solver",
    "Termination",
    "certify",
    "certify_point",
    "credible_bound",
    "dual_bound",
    "linear_relaxation",
    "mps_text",
    "presolve",
    "reduce_max_csp",
    "verified",
    "why_refused",
    "write_mps",
]
