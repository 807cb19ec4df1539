"""Search better records and bounds for the larger instances: `python models/improve_instances.py --seconds 60`.

    python models/improve_instances.py kdd99-parities-1 wide-rules-40 --seconds 120 --solvers cp-sat highs --seeds 20

Local search from several seeds, then each solver for at most so many seconds, then linear programs whose duals prove a bound
in exact arithmetic. What is better than the file says is written to it, with who found it.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path

from instance_table import instance_files, write_table
from instance_text import Known, dated, with_known

from dpopt.comparison.instances import read_instance
from dpopt.errors import DpoptError
from dpopt.models import Formulation, accepting_max_csp
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.programs import MaxCsp, SolveLimits, SolveResult, certify
from dpopt.solvers import get_solver

SWEEPS = 40_000
LINEAR = "mathopt-highs"


def with_record(known: Known, problem: MaxCsp, result: SolveResult, words: str) -> Known:
    """Return what is known once a solver has ended: a better record, a smaller reported bound."""
    if result.solution is None:
        return known
    certificate = certify(problem, result)
    if certificate.objective is not None and certificate.objective > known.best:
        known = replace(known, record=result.require_record(), best=certificate.objective, found_by=dated(words))
    if certificate.bound is not None and certificate.bound < known.bound:
        known = replace(known, bound=certificate.bound, bound_by=dated(words))
    return known


def searched(known: Known, problem: MaxCsp, seeds: int) -> Known:
    """Search from each seed."""
    search = get_solver("local-search")
    for seed in range(1, seeds + 1):
        result = search.solve(problem, SolveLimits(work=SWEEPS, seed=seed), hint=known.record)
        known = with_record(known, problem, result, f"{result.solver}, {SWEEPS:,} sweeps, seed {seed}")
    return known


def solved(known: Known, problem: MaxCsp, name: str, seconds: float) -> Known:
    """Ask one solver, from the best known record."""
    solver = accepting_max_csp(get_solver(name), Formulation.PER_LITERAL)
    try:
        result = solver.solve(problem, SolveLimits(seconds=seconds, threads=1), hint=known.record)
    except DpoptError as error:
        print(f"    {name}: {error}")
        return known
    spent = "to its end" if result.termination.value == "optimal" else f"{seconds:g} s"
    print(f"    {name}: {result.objective}, {result.bound}, {result.termination.value}, {result.seconds:.1f} s")
    return with_record(known, problem, result, f"{result.solver} {result.version}, {spent}")


def proved(known: Known, problem: MaxCsp, seconds: float) -> Known:
    """Prove bounds by the duals of linear programs; a proven bound is a bound."""
    for formulation in (Formulation.CLIQUE, None):
        found = relaxation_bound(problem, get_solver(LINEAR), formulation, SolveLimits(seconds=seconds))
        print(f"    {found.relaxation}: {found.bound and float(found.bound)}, {found.seconds:.1f} s, {found.why_none}")
        if found.bound is None:
            continue
        words, bound = f"duals of the {found.relaxation}", math.floor(found.bound)
        if bound < known.proven:
            known = replace(known, proven=bound, proven_by=dated(words))
        if bound < known.bound:
            known = replace(known, bound=bound, bound_by=dated(f"proven, {words}"))
    return known


def improve(path: Path, solvers: list[str], seconds: float, seeds: int) -> None:
    """Improve one instance and write its file."""
    instance = read_instance(path)
    known, problem = Known.of(instance), instance.problem
    print(f"{path.stem}: {known.best}, {known.bound}, {known.proven}", flush=True)
    known = searched(known, problem, seeds)
    for name in solvers:
        if known.best < known.bound:
            known = solved(known, problem, name, seconds)
    known = proved(known, problem, seconds)
    print(f"  now {known.best}, {known.bound}, {known.proven}", flush=True)
    path.write_text(with_known(path.read_text(encoding="utf-8"), known), encoding="utf-8")


def main() -> None:
    """Improve the instances that are named, or all larger ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="instances; all larger ones if none is named")
    parser.add_argument("--solvers", nargs="*", default=["cp-sat", "highs"])
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each solver")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of the local search")
    given = parser.parse_args()
    for path in instance_files():
        if "family" in read_instance(path).stated and (not given.names or path.stem in given.names):
            improve(path, given.solvers, given.seconds, given.seeds)
            write_table()


if __name__ == "__main__":
    main()
