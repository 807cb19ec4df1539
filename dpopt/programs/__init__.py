"""Optimization problems as plain arrays, answers, certificates, and the contract of a solver.

In       arrays: domain sizes, clauses and weights; or an objective, a matrix, bounds.
Out      `MaxCsp`, `MixedIntegerProgram`, `QuadraticProgram`, `ConicProgram` (problems); `SolveResult` (what a solver reports);
         `Certificate` (what is true).
Next     a new kind of problem: one file here with its dataclass, its name in `Program` (solver.py) and a
         `Capability`; its text form beside mps.py. A new solver does not touch this room.

>>> import dpopt
>>> dpopt.programs.Capability.PRESOLVES.value
'has its own presolve of weighted clauses; dpopt presolves for the other solvers'

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

from dpopt.programs.building import Block as Block
from dpopt.programs.building import Builder as Builder
from dpopt.programs.certificate import Certificate as Certificate
from dpopt.programs.certificate import PointCertificate as PointCertificate
from dpopt.programs.certificate import certify as certify
from dpopt.programs.certificate import certify_point as certify_point
from dpopt.programs.certificate import credible_bound as credible_bound
from dpopt.programs.conic import Cone as Cone
from dpopt.programs.conic import ConicProgram as ConicProgram
from dpopt.programs.duality import dual_bound as dual_bound
from dpopt.programs.duality import linear_relaxation as linear_relaxation
from dpopt.programs.max_csp import MaxCsp as MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram as MixedIntegerProgram
from dpopt.programs.mps import mps_text as mps_text
from dpopt.programs.mps import write_mps as write_mps
from dpopt.programs.presolve import Presolve as Presolve
from dpopt.programs.presolve import presolve as presolve
from dpopt.programs.quadratic import QuadraticProgram as QuadraticProgram
from dpopt.programs.reduction import Reduction as Reduction
from dpopt.programs.reduction import reduce_max_csp as reduce_max_csp
from dpopt.programs.results import NO_LIMITS as NO_LIMITS
from dpopt.programs.results import Limit as Limit
from dpopt.programs.results import Point as Point
from dpopt.programs.results import Progress as Progress
from dpopt.programs.results import SolveLimits as SolveLimits
from dpopt.programs.results import SolveResult as SolveResult
from dpopt.programs.results import Termination as Termination
from dpopt.programs.solver import Availability as Availability
from dpopt.programs.solver import AvailabilityStatus as AvailabilityStatus
from dpopt.programs.solver import Capability as Capability
from dpopt.programs.solver import Program as Program
from dpopt.programs.solver import Solver as Solver
from dpopt.programs.solver import why_refused as why_refused
from dpopt.programs.verification import verified as verified
