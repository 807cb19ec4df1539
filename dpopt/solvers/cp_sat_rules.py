"""Rules on records as constraints of CP-SAT: one for each gate that must be true, and one Boolean for each other gate.

A gate's sum is at least its bound if it is required, else if its Boolean is true; one direction is enough, as the circuit
is monotone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

if TYPE_CHECKING:
    from ortools.sat.python import cp_model
    from ortools.sat.python.cp_model_helper import Literal


def add_rules(
    model: cp_model.CpModel, rules: ThresholdCircuit, offsets: NDArray[np.int64], codes: list[Literal]
) -> None:
    """Add the gates to the model, children first. `codes` are the literals of the flat columns.

    Loops over the gates, as the library's interface is one call for each.
    """
    low, _ = rules.term_ranges()
    gains = rules.values - np.repeat(low, np.diff(rules.value_starts))  # what a code adds beyond the least
    truths: list[Literal] = []
    for gate, required in enumerate(rules.required.tolist()):
        terms = range(int(rules.term_starts[gate]), int(rules.term_starts[gate + 1]))
        needed = int(rules.bounds[gate]) - int(low[terms.start : terms.stop].sum())
        literals, amounts = _terms(rules, terms, gains, offsets, codes)
        entries = slice(int(rules.child_starts[gate]), int(rules.child_starts[gate + 1]))
        literals += [truths[child] for child in rules.children[entries].tolist()]
        amounts += rules.coefficients[entries].tolist()
        truth = None if required else model.new_bool_var("")
        truths.append(model.new_constant(1) if truth is None else truth)
        _add_gate(model, truth, literals, amounts, needed)


def _terms(
    rules: ThresholdCircuit,
    terms: range,
    gains: NDArray[np.int64],
    offsets: NDArray[np.int64],
    codes: list[Literal],
) -> tuple[list[Literal], list[int]]:
    """Return the literals of the codes that add something to a gate's sum, and what each adds."""
    starts = rules.value_starts[terms.start : terms.stop + 1]
    entry = np.arange(int(starts[0]), int(starts[-1]))
    owner = np.repeat(np.arange(terms.stop - terms.start), np.diff(starts))
    used = gains[entry] > 0
    columns = offsets[rules.term_attributes[terms.start : terms.stop]][owner] + entry - starts[:-1][owner]
    return [codes[column] for column in columns[used].tolist()], gains[entry][used].tolist()


def _add_gate(
    model: cp_model.CpModel,
    truth: Literal | None,
    literals: list[Literal],
    amounts: list[int],
    needed: int,
) -> None:
    """Add: the amounts of the true literals sum to at least `needed`, if `truth` (None: always)."""
    if needed <= 0:
        return
    if all(amount >= needed for amount in amounts):
        constraint = model.add_bool_or(literals)
    else:
        total = sum(amount * literal for amount, literal in zip(amounts, literals, strict=True))
        constraint = model.add(total >= needed)
    if truth is not None:
        constraint.only_enforce_if(truth)
