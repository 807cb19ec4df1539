"""A best response as a model in the hand: mixed-integer, with the names of the pages BR, TH, PA and RU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.model import Model
from dpopt.programs.building import Block
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.queries.clauses import Clauses


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

    Raises
    ------
    ProgramError
        The weights are too large for double precision.

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
    >>> model.solve("highs").objective
    3.0
    """
    chosen = Formulation(formulation)
    program = max_csp_as_mip(problem, chosen)
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
            inside=lambda: _row_names(problem, program, chosen),
            full=True,
        ),
    }
    page = "best_response_with_rules" if problem.rules.number_of_rules else _page(problem.clauses)
    kept = ({symbol: block for symbol, block in blocks.items() if block.size} for blocks in (variables, rows))
    return Model(page, program, next(kept), next(kept), {})


def _page(clauses: Clauses) -> str:
    widths = clauses.widths()
    full = np.left_shift(np.int64(1), widths)
    accepted = clauses.accepted.astype(np.int64)
    plain = (accepted == full) | (accepted == full - 1)
    return "best_response" if plain.all() else "best_response_thresholds"


def _row_names(problem: MaxCsp, program: MixedIntegerProgram, formulation: Formulation) -> list[str]:
    """Return a name for each row after BR-2: the label of the page that it is written on, and its clause."""
    attributes, codes = problem.sizes.size, int(problem.offsets()[-1])
    labels = _labels(problem, formulation)
    number = program.number_of_rows - attributes
    in_clause = (program.columns >= codes) & (program.columns < codes + len(problem.clauses))
    owner = np.full(program.number_of_rows, -1, dtype=np.int64)
    several = np.bincount(program.row_of_entry()[in_clause], minlength=program.number_of_rows) > 1
    owner[program.row_of_entry()[in_clause]] = program.columns[in_clause] - codes
    owner[several] = -1  # a row that several clauses share
    seen: Counter[str] = Counter()
    names = []
    for row in range(attributes, attributes + number):
        clause = int(owner[row])
        shared = "BR-10" if several[row] else "RU-2"
        name = f"{labels[clause]}[{clause}" if clause >= 0 else f"{shared}[{seen[shared]}"
        again = seen[name] if clause >= 0 else 0
        seen[name if clause >= 0 else shared] += 1
        names.append(f"{name},{again}]" if again else f"{name}]")
    return names


def _labels(problem: MaxCsp, formulation: Formulation) -> list[str]:
    """Return the label under which the rows of each clause stand on its page."""
    widths = problem.clauses.widths()
    full = np.left_shift(np.int64(1), widths)
    accepted = problem.clauses.accepted.astype(np.int64)
    conjunction, negation, rewarded = accepted == full, accepted == full - 1, problem.weights > 0
    aggregated = formulation is Formulation.AGGREGATED
    found = np.select(
        [conjunction & rewarded, conjunction, negation & ~rewarded, negation],
        ["BR-8" if aggregated else "BR-3", "BR-4", "BR-9" if aggregated else "BR-5", "BR-6"],
        default="TH-1",
    )
    return [str(one) for one in found]
