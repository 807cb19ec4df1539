"""The page that a best response is on, and a name for each of its rows: the label of that page, and its clause.

Labels are those of models/best_response (BR-3 to BR-12), models/best_response_thresholds (TH-1 to TH-7),
models/best_response_parities (PA-1 to PA-6) and models/best_response_with_rules (RU-2).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from dpopt.models.best_responses.max_csp_as_mip import MipParts
from dpopt.models.best_responses.rewarded_clauses import Formulation, Kind, RewardedClauses, rewarded_clauses
from dpopt.models.best_responses.rows.clause_rows import WIDEST_WITHOUT_LINKS, counted_columns, parity_columns
from dpopt.programs.building import Flags, Indices
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram


def page_of(problem: MaxCsp) -> str:
    """Return the page of a best response: with rules, of conjunctions and their negations, of parities too, of any clauses."""
    if problem.rules.number_of_rules:
        return "best_response_with_rules"
    plain = np.logical_or(*_plain(problem))
    if plain.all():
        return "best_response"
    parity = rewarded_clauses(problem).kinds == Kind.PARITY
    return "best_response_parities" if (plain | parity).all() else "best_response_thresholds"


def _plain(problem: MaxCsp) -> tuple[Flags, Flags]:
    """Return which clauses are conjunctions, and which are negations of some."""
    full = np.left_shift(np.int64(1), problem.clauses.widths())
    accepted = problem.clauses.accepted.astype(np.int64)
    return accepted == full, accepted == full - 1


def row_names(problem: MaxCsp, parts: MipParts, program: MixedIntegerProgram, formulation: Formulation) -> list[str]:
    """Return a name for each row after BR-2."""
    sizes = {name: sum(block.number_of_rows for block in group) for name, group in parts.groups.items()}
    group_of_row = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    names = dict(enumerate(sizes))
    least, owner, in_clause = _owners(problem, parts.rewarded, program, formulation)
    entries = np.diff(program.row_starts)
    conjunctive = _labels(problem, formulation)
    seen: Counter[str] = Counter()
    found = []
    for row in range(sizes["attributes"], program.number_of_rows):
        clause, group = int(owner[row]), names[int(group_of_row[row])]
        if group == "cliques":
            label = "BR-10" if least[row] != clause else conjunctive[clause] or "TH-1"
        elif group == "thresholds":
            label = conjunctive[clause] or _threshold(parts.rewarded, clause, int(entries[row]) - 1)
        elif group == "parities":
            upper = bool(np.isfinite(program.row_upper[row]))
            label = _parity(problem, clause, formulation, in_clause=bool(in_clause[row]), upper=upper)
        elif group == "counted":
            of_counts = int(entries[row]) == int(parts.rewarded.widths[clause]) + 1  # the y alone
            label = "TH-7" if in_clause[row] else "TH-5" if of_counts else "TH-6"
        else:
            label = "RU-2"
        shared = label in {"BR-10", "RU-2"}
        key = label if shared else f"{label}[{clause}"
        again = seen[key]
        seen[key] += 1
        found.append(f"{label}[{again}]" if shared else f"{key},{again}]" if again else f"{key}]")
    return found


def _owners(
    problem: MaxCsp, rewarded: RewardedClauses, program: MixedIntegerProgram, formulation: Formulation
) -> tuple[Indices, Indices, Flags]:
    """Return the first and the last clause of each row (r,), by its variables, and whether it holds a c; -1: no clause."""
    codes, clauses = int(problem.offsets()[-1]), len(problem.clauses)
    of_column = np.full(program.number_of_variables, -1, dtype=np.int64)
    further = np.concatenate((parity_columns(rewarded, formulation)[0], counted_columns(rewarded)))
    of_column[codes : codes + clauses] = np.arange(clauses)
    of_column[codes + clauses : codes + clauses + further.size] = further
    rows, owner = program.row_of_entry(), of_column[program.columns]
    least = np.full(program.number_of_rows, clauses, dtype=np.int64)
    most = np.full(program.number_of_rows, -1, dtype=np.int64)
    np.minimum.at(least, rows[owner >= 0], owner[owner >= 0])
    np.maximum.at(most, rows, owner)
    is_clause = (program.columns >= codes) & (program.columns < codes + clauses)
    return least, most, np.bincount(rows[is_clause], minlength=program.number_of_rows) > 0


def _threshold(rewarded: RewardedClauses, clause: int, literals: int) -> str:
    """Return the label of a threshold's row over this number of literals: TH-1 has the smallest sets, TH-2 the largest."""
    width, bound = int(rewarded.widths[clause]), int(rewarded.bounds[clause])
    if literals <= width - bound + 1:
        return "TH-1"
    return "TH-2" if literals == width else "TH-3"


def _parity(problem: MaxCsp, clause: int, formulation: Formulation, *, in_clause: bool, upper: bool) -> str:
    if formulation is Formulation.AGGREGATED:
        return "PA-1" if int(problem.clauses.accepted[clause]) & 2 else "PA-2"
    if not in_clause:
        return "PA-4" if upper else "PA-5"
    return "PA-6" if int(problem.clauses.widths()[clause]) > WIDEST_WITHOUT_LINKS else "PA-3"


def _labels(problem: MaxCsp, formulation: Formulation) -> list[str]:
    """Return the label under which the rows of each conjunction, or negation of one, stand; "" for other clauses."""
    rewarded, aggregated = problem.weights > 0, formulation is Formulation.AGGREGATED
    conjunction, negation = _plain(problem)
    found = np.select(
        [conjunction & rewarded, conjunction, negation & ~rewarded, negation],
        ["BR-8" if aggregated else "BR-3", "BR-4", "BR-9" if aggregated else "BR-5", "BR-6"],
        default="",
    )
    return [str(one) for one in found]
