"""The data player's best response in DualQuery: the record that answers the drawn queries best.

Problem (models/best_response, BR-1 and BR-2): maximize sum_j w_j q_j(x) over records x, where w_j is how often base
query j was drawn minus how often its negation was. A draw of the negation 1 - q_j counts -q_j(x) plus a constant, so
the net counts are the weights, and a record that maximizes BR-1 maximizes the number of drawn queries that are true.

Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), "Dual Query: Practical Private Query Release for High
Dimensional Data", Algorithm 2 and section 5.

As a model in the hand it is mixed-integer, with the names of the pages BR, TH, PA and RU. A record is read off a
solver's result, or why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.best_responses.max_csp_as_mip import mip_parts, point_from_record
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.best_responses.row_names import page_of, row_names
from dpopt.models.model import ClauseForm, Model
from dpopt.programs.building import Block, assembled
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.transcript.released import SampledQueries


def round_program(
    workload: Clauses, sizes: NDArray[np.int32], sampled: SampledQueries, rules: ThresholdCircuit = NO_RULES
) -> MaxCsp:
    """Return the best response to one round's draw as a program.

    Parameters
    ----------
    workload
        The m base queries.
    sizes : (d,) int32
        Number of codes of each attribute.
    sampled
        Net counts of the drawn queries; at most s clauses result, however large the workload is.
    rules
        Hard rules on records, public; none if left out.
    """
    if sampled.queries.size and int(sampled.queries[-1]) >= len(workload):
        raise ProgramError(
            f"round {sampled.round} names query {int(sampled.queries[-1])}; the workload has {len(workload)} "
            "(numbered from 0): the transcript belongs to another workload"
        )
    return MaxCsp(sizes, workload.take(sampled.queries), sampled.counts, rules)


_HOW = re.compile(r"(?<=broke down: )\w+|(?<=answered with )\w+|did not answer|^\w+Error(?=: )")


def read_record(problem: MaxCsp, result: SolveResult) -> tuple[NDArray[np.int32] | None, str | None]:
    """Return the record of a result, or None and the reason why it gives none.

    Returns
    -------
    record : (d,) int32 array or None
        One existing code for every attribute.
    reason : str or None
        Set if and only if there is no record.
    """
    if result.solution is None:
        how = _HOW.findall(result.native_status)  # no text of an error: what is published has no paths
        ending = f"{result.solver} ended '{result.termination.value}' without a solution"
        return None, f"{ending} ({how[-1]})" if how else ending
    codes = result.solution
    if codes.shape != problem.sizes.shape or codes.dtype != np.dtype(np.int32):
        return None, f"{result.solver} gave an answer of the wrong shape or type"
    record = np.array(codes, dtype=np.int32)
    if problem.domain_violation(record):
        return None, f"{result.solver} gave a code that does not exist"
    broken = problem.broken_rules(record)
    if broken:
        return None, f"{result.solver} gave a record that breaks the rule {broken[0]!r}"
    return record, None


def best_response(
    problem: MaxCsp,
    formulation: Formulation | str = Formulation.PER_LITERAL,
    *,
    names: Sequence[Sequence[str]] | None = None,
) -> Model:
    """Return a best response as a mixed-integer program: x of each code, c of each clause, and y where rows need more.

    Parameters
    ----------
    problem
        Weighted clauses over attributes, with or without rules: of a round (`round_program`), or stated.
    formulation
        "aggregated", "per-literal" or "clique"; the first has whole variables only, so that CP-SAT can hold it.
    names
        What stands between the brackets of x for each code of each attribute, such as "age=30"; numbers if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from dpopt.programs import MaxCsp
    >>> from dpopt.queries.clauses import Clauses
    >>> both = Clauses.conjunctions(np.array([[0, 1]]), np.array([[1, 0]]), np.array([[True, True]]))
    >>> problem = MaxCsp(np.array([2, 2]), both, np.array([3]))
    >>> model = best_response(problem, "aggregated")
    >>> print(model)
    best_response: maximize, mixed-integer
      variables  x[0=0] ... x[1=1]     4
                 c[0]                  1
      rows       BR-2[0] ... BR-2[1]   2
                 BR-8[0]               1
      maximize: 3 c[0]
      BR-2[0]: x[0=0] + x[0=1] = 1
      BR-2[1]: x[1=0] + x[1=1] = 1
      BR-8[0]: - x[0=1] - x[1=0] + 2 c[0] <= 0
    >>> [model.solve(name).objective for name in ("highs", "local-search")]  # the latter takes the clauses as they are
    [3.0, 3.0]
    """
    chosen = Formulation(formulation)
    parts = mip_parts(problem, chosen)
    program = assembled(parts.variables, parts.blocks)
    codes, clauses = int(problem.offsets()[-1]), len(problem.clauses)
    attributes, further = problem.sizes.size, program.number_of_variables - codes - clauses

    def of_codes() -> list[str]:
        if names is not None:
            return [name for attribute in names for name in attribute]
        return [f"{a}={v}" for a, size in enumerate(problem.sizes.tolist()) for v in range(size)]

    variables = {
        "x": Block("x", 0, (codes,), inside=of_codes),
        "c": Block("c", codes, (clauses,), start=0),
        "y": Block("y", codes + clauses, (further,), start=0),
    }
    rows = {
        "BR-2": Block("BR-2", 0, (attributes,), start=0),
        "clauses": Block(
            "clauses",
            attributes,
            (program.number_of_rows - attributes,),
            inside=lambda: row_names(problem, parts, program, chosen),
            full=True,
        ),
    }
    kept = ({symbol: block for symbol, block in blocks.items() if block.size} for blocks in (variables, rows))
    form = ClauseForm(problem, lambda record: point_from_record(problem, record, chosen))
    return Model(page_of(problem), program, next(kept), next(kept), {}, {}, clauses=form)
