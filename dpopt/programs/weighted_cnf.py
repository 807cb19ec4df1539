"""A MaxCsp, with rules that count, as a weighted CNF for MaxSAT solvers, in plain numbers and as a file.

Hard clauses: each attribute has exactly one code; every required gate is true. Soft clauses: for each clause of the
program one, whose weight is lost where the clause of positive weight is false or the one of negative weight true. So

    objective of a record = sum of the positive weights - weight of the soft clauses that it breaks.

A literal "attribute has code v" is a variable; an attribute with two codes has one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit


@dataclass
class WeightedCnf:
    """Clauses over variables 1, 2, ...; a negative number is the negation."""

    codes: list[int] = field(default_factory=list)
    """Literal of each flat column of the program."""
    hard: list[list[int]] = field(default_factory=list)
    """Clauses that must hold."""
    soft: list[list[int]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    """The soft clauses, each with its weight (> 0)."""
    lost: int = 0
    """Weight that is lost whatever the record is, beyond that of broken soft clauses."""
    variables: int = 0

    def new(self) -> int:
        """Return a new variable."""
        self.variables += 1
        return self.variables


def weighted_cnf(problem: MaxCsp) -> WeightedCnf:
    """Return the weighted CNF of a problem; ProgramError for rules that add up numbers.

    Loops over the clauses, as their lists of literals are what a SAT library takes.
    """
    weighted = problem.rules.number_of_weighted_rule()
    if weighted is not None:
        raise ProgramError(
            f"the rule {problem.rules.names[weighted]!r} adds up numbers; a weighted CNF holds rules that count "
            "conditions, each once. Write .opb"
        )
    cnf = WeightedCnf()
    _add_attributes(cnf, problem.sizes)
    _add_clauses(cnf, problem)
    _add_rules(cnf, problem.rules, problem.offsets())
    return cnf


def record_of(cnf: WeightedCnf, problem: MaxCsp, model: Sequence[int]) -> NDArray[np.int32]:
    """Return the record (d,) int32 of a model: for each variable, itself or its negation."""
    values = np.zeros(cnf.variables + 1, dtype=np.bool_)
    numbers = np.array([number for number in model if abs(number) <= cnf.variables], dtype=np.int64)
    values[np.abs(numbers)] = numbers > 0
    literals = np.array(cnf.codes, dtype=np.int64)
    chosen = np.flatnonzero(values[np.abs(literals)] == (literals > 0))
    return (chosen - problem.offsets()[:-1]).astype(np.int32)


def _add_attributes(cnf: WeightedCnf, sizes: NDArray[np.int32]) -> None:
    for size in sizes.tolist():
        if size == 2:
            first = cnf.new()
            cnf.codes += [first, -first]
            continue
        group = [cnf.new() for _ in range(size)]
        cnf.codes += group
        _exactly_one(cnf, group)


def _exactly_one(cnf: WeightedCnf, group: list[int]) -> None:
    """Add that one literal is true: pairs where they are few, else a chain of "one of the first i is true"."""
    cnf.hard.append(list(group))
    if len(group) <= 5:
        cnf.hard += [[-a, -b] for place, a in enumerate(group) for b in group[place + 1 :]]
        return
    reached = group[0]
    for literal in group[1:-1]:
        cnf.hard.append([-reached, -literal])
        after = cnf.new()
        cnf.hard += [[-reached, after], [-literal, after]]
        reached = after
    cnf.hard.append([-reached, -group[-1]])


def _add_clauses(cnf: WeightedCnf, problem: MaxCsp) -> None:
    clauses = problem.clauses
    used = clauses.attributes >= 0
    columns = np.where(used, problem.offsets()[np.where(used, clauses.attributes, 0)] + clauses.values, 0)
    rows = zip(
        columns.tolist(),
        clauses.signs.tolist(),
        clauses.accepted.tolist(),
        clauses.widths().tolist(),
        problem.weights.tolist(),
        strict=True,
    )
    for places, signs, accepted, width, weight in rows:
        pairs = zip(places[:width], signs[:width], strict=True)
        literals = [cnf.codes[place] if sign else -cnf.codes[place] for place, sign in pairs]
        every = (1 << (width + 1)) - 1
        _add_soft(cnf, literals, accepted if weight > 0 else every & ~accepted, abs(weight))


def _add_soft(cnf: WeightedCnf, literals: list[int], wanted: int, weight: int) -> None:
    """Add a soft clause: the number of true literals is one of the bits of `wanted`."""
    width = len(literals)
    every = (1 << (width + 1)) - 1
    if wanted == every:
        return
    if wanted == 0:
        cnf.lost += weight
        return
    if wanted == every - 1:  # one at least
        soft = list(literals)
    elif wanted == every >> 1:  # not all
        soft = [-literal for literal in literals]
    else:
        truth = cnf.new()
        soft = [truth]
        if wanted == 1 << width:
            cnf.hard += [[-truth, literal] for literal in literals]
        elif wanted == 1:
            cnf.hard += [[-truth, -literal] for literal in literals]
        else:
            _count_implied(cnf, truth, literals, wanted)
    cnf.soft.append(soft)
    cnf.weights.append(weight)


def _count_implied(cnf: WeightedCnf, truth: int, literals: list[int], wanted: int) -> None:
    """Add that `truth` lets the number of true literals be one of the bits of `wanted`.

    counts[j] = "j of the literals so far are true" is implied by what came before, one literal after the other.
    """
    counts = {0: 0}  # 0 stands for "true"
    for literal in literals:
        after: dict[int, int] = {}
        for j, reached in counts.items():
            known = [] if reached == 0 else [-reached]
            for number, condition in ((j, literal), (j + 1, -literal)):
                variable = after.setdefault(number, 0) or cnf.new()
                after[number] = variable
                cnf.hard.append([*known, condition, variable])
        counts = after
    cnf.hard += [[-truth, -variable] for j, variable in counts.items() if not wanted >> j & 1]


def _add_rules(cnf: WeightedCnf, rules: ThresholdCircuit, offsets: NDArray[np.int64]) -> None:
    """Add the gates, children first: a required one holds, another one is implied by a variable of its own."""
    attributes, bounds = rules.term_attributes.tolist(), rules.bounds.tolist()
    low, high = rules.term_ranges()
    truths: list[int] = []
    for gate, required in enumerate(rules.required.tolist()):
        terms = range(int(rules.term_starts[gate]), int(rules.term_starts[gate + 1]))
        needed = bounds[gate] - sum(int(low[term]) for term in terms)
        inputs = []
        for term in terms:
            if high[term] > low[term]:
                values = rules.values[rules.value_starts[term] : rules.value_starts[term + 1]]
                first = int(offsets[attributes[term]])
                inputs.append([cnf.codes[first + code] for code in np.flatnonzero(values == high[term]).tolist()])
        entries = slice(int(rules.child_starts[gate]), int(rules.child_starts[gate + 1]))
        children = rules.children[entries].tolist()
        inputs += [[truths[child]] for child in children if truths[child]]
        needed -= sum(not truths[child] for child in children)  # a required gate is true anyway
        truth = 0 if required else cnf.new()
        truths.append(truth)
        _add_gate(cnf, [] if required else [-truth], inputs, needed)


def _add_gate(cnf: WeightedCnf, unless: list[int], inputs: list[list[int]], needed: int) -> None:
    """Add that at least `needed` inputs hold, each a list of literals where one suffices, unless a literal is true."""
    if needed <= 0:
        return
    if needed > len(inputs):
        cnf.hard.append(unless)
    elif needed == 1:
        cnf.hard.append([*unless, *(literal for one in inputs for literal in one)])
    elif needed == len(inputs):
        cnf.hard += [[*unless, *one] for one in inputs]
    else:
        cnf.hard.append([*unless, _at_least(cnf, [_single(cnf, one) for one in inputs], needed)])


def _at_least(cnf: WeightedCnf, literals: list[int], needed: int) -> int:
    """Return a variable that implies that at least `needed` literals are true; 1 < needed < their number.

    Sequential counter: reached[j] implies that j of the literals so far are true. Source: Sinz (2005), turned round.
    """
    reached = {1: literals[0]}
    for place, literal in enumerate(literals[1:], start=2):
        after = {}
        for j in range(max(1, needed - len(literals) + place), min(needed, place) + 1):
            after[j] = cnf.new()
            before = [reached[j]] if j in reached else []
            cnf.hard.append([-after[j], *before, literal])
            if j > 1:
                cnf.hard.append([-after[j], *before, reached[j - 1]])
        reached = after
    return reached[needed]


def _single(cnf: WeightedCnf, literals: list[int]) -> int:
    """Return a literal that implies that one of these is true."""
    if len(literals) == 1:
        return literals[0]
    any_of = cnf.new()
    cnf.hard.append([-any_of, *literals])
    return any_of


def wcnf_text(problem: MaxCsp, names: Sequence[str] = ()) -> bytes:
    """Return the weighted CNF as a file of the MaxSAT evaluations since 2022: "h" begins a hard clause, else its weight.

    Comments say what each code's literal is, by these names of the flat columns ("x[0=1]"), and how an optimum of the file
    becomes one of the problem; errors as of `weighted_cnf`.
    """
    cnf = weighted_cnf(problem)
    best = problem.upper_bound() - cnf.lost
    titles = names or [f"x[{a}={v}]" for a, size in enumerate(problem.sizes.tolist()) for v in range(size)]
    lines = [f"c objective of a record = {best} - weight of the soft clauses that it breaks"]
    lines += [f"c {' '.join(title.split())} is {literal}" for title, literal in zip(titles, cnf.codes, strict=True)]
    lines += [" ".join(map(str, ["h", *clause, 0])) for clause in cnf.hard]
    lines += [" ".join(map(str, [weight, *clause, 0])) for weight, clause in zip(cnf.weights, cnf.soft, strict=True)]
    return ("\n".join(lines) + "\n").encode("ascii", "backslashreplace")
