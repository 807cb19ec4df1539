"""Hard rules on records in the form that solvers read: a circuit of gates that add up and compare.

Every Boolean formula over literals, every count of literals and every linear comparison of numeric columns is such a
circuit once negations are pushed down to the literals ("attribute in this set of codes"). A gate then never turns false
because a child turns true, so solvers need only one direction of each gate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Hash, Rebuilt, freeze
from dpopt.constraints import constrain
from dpopt.errors import SchemaError

LARGEST_SUM = 2**53
"""No gate's sum may reach this: sums are exact in integers and in double precision alike."""


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCircuit(Rebuilt):
    """Gates over the codes of a record; a record obeys the rules if every required gate is true of it.

    Gate g is true of a record x if and only if

        sum over its terms i of  values[value_starts[i] + x[term_attributes[i]]]
        + sum over its children e of  coefficients[e] * [gate children[e] is true of x]   >=   bounds[g].

    A literal "attribute in S" is a term with values 1 on S and 0 elsewhere; an "and" of w inputs has bound w, an "or"
    has bound 1, "at least r of" has bound r. Gates come after their children, and every coefficient of a child is
    positive, so the circuit is monotone: a larger value or a further true child never makes a gate false.
    """

    names: tuple[str, ...]
    """The R rules in the user's words."""
    bounds: NDArray[np.int64]
    """Shape (G,). Right-hand side of each gate."""
    required: NDArray[np.bool_]
    """Shape (G,). True: the gate must be true of every record."""
    rule_of: NDArray[np.int32]
    """Shape (G,). The rule that the gate belongs to, 0 .. R - 1; children belong to the rule of their parent."""
    term_starts: NDArray[np.int64]
    """Shape (G + 1,). Gate g owns the terms term_starts[g] to term_starts[g + 1] - 1."""
    term_attributes: NDArray[np.int32]
    """Shape (t,). Attribute of each term; strictly increasing within a gate."""
    value_starts: NDArray[np.int64]
    """Shape (t + 1,). Term i owns the values value_starts[i] to value_starts[i + 1] - 1, one for each code of its
    attribute."""
    values: NDArray[np.int64]
    """Shape (e,). The amount that the term adds for each code; of either sign."""
    child_starts: NDArray[np.int64]
    """Shape (G + 1,). Gate g owns the children child_starts[g] to child_starts[g + 1] - 1."""
    children: NDArray[np.int32]
    """Shape (c,). Number of the child gate, below that of its parent."""
    coefficients: NDArray[np.int64]
    """Shape (c,). The amount that the child adds if it is true; > 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        constrain(self, SchemaError)
        self._check_shapes()
        self._check_order()
        self._check_sums()

    def __len__(self) -> int:
        """Return the number of gates G."""
        return self.bounds.size

    @property
    def number_of_rules(self) -> int:
        """Number of rules R."""
        return len(self.names)

    def attributes(self) -> NDArray[np.int32]:
        """Return the attributes that some rule looks at, increasing."""
        return np.unique(self.term_attributes)

    def gate_of_term(self) -> NDArray[np.int32]:
        """Return the gate of each term, (t,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.term_starts))

    def gate_of_child(self) -> NDArray[np.int32]:
        """Return the parent gate of each entry of `children`, (c,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.child_starts))

    def term_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the smallest and the largest value of each term, two arrays (t,)."""
        if self.term_attributes.size == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        starts = self.value_starts[:-1]
        return np.minimum.reduceat(self.values, starts), np.maximum.reduceat(self.values, starts)

    def sum_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the smallest and the largest sum of each gate over all records, rules aside; two arrays (G,)."""
        low, high = self.term_ranges()
        owner = self.gate_of_term()
        least, most = np.zeros(len(self), dtype=np.int64), np.zeros(len(self), dtype=np.int64)
        np.add.at(least, owner, low)
        np.add.at(most, owner, high)
        np.add.at(most, self.gate_of_child(), self.coefficients)
        return least, most

    def number_of_weighted_rule(self) -> int | None:
        """Return the first rule that adds up numbers, not only conditions that count once each; None if none does.

        A term counts a condition if it takes at most two values, one apart.
        """
        low, high = self.term_ranges()
        weighted = np.zeros(self.number_of_rules, dtype=np.bool_)
        weighted[self.rule_of[self.gate_of_term()[high - low > 1]]] = True
        weighted[self.rule_of[self.gate_of_child()[self.coefficients > 1]]] = True
        return int(np.argmax(weighted)) if weighted.any() else None

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Raise SchemaError unless every term names an attribute of these sizes and has a value for each code."""
        bounds = np.asarray(sizes, dtype=np.int64)
        if self.term_attributes.size == 0:
            return
        if int(self.term_attributes.min()) < 0 or int(self.term_attributes.max()) >= bounds.size:
            raise SchemaError(f"a rule names an attribute outside 0 .. {bounds.size - 1}")
        wrong = np.diff(self.value_starts) != bounds[self.term_attributes]
        if wrong.any():
            term = int(np.argmax(wrong))
            raise SchemaError(
                f"a rule gives {int(np.diff(self.value_starts)[term])} values to attribute number "
                f"{int(self.term_attributes[term])}, which has {int(bounds[self.term_attributes[term]])} codes"
            )

    def gates(self, records: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which gates are true of each record, (r, G); existing codes (r, d)."""
        from dpopt.schema.rules.circuit_kernels import true_gates  # imports numba

        table = np.ascontiguousarray(records, dtype=np.int32)
        named = int(self.term_attributes.max(initial=-1)) + 1
        if table.ndim != 2 or table.shape[1] < named:
            raise SchemaError(
                f"records are an array of shape {table.shape}; expected a row for each record, with a code for each "
                f"attribute, {named} of them at least, since rules name attribute number {named - 1}"
            )
        result = np.zeros((table.shape[0], len(self)), dtype=np.bool_)
        true_gates(
            table,
            self.bounds,
            self.term_starts,
            self.term_attributes,
            self.value_starts,
            self.values,
            self.child_starts,
            self.children,
            self.coefficients,
            result,
        )
        return result

    def broken(self, records: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which rules each of the records (r, d) breaks, (r, R)."""
        if not self.names:
            return np.zeros((records.shape[0], 0), dtype=np.bool_)
        required = np.flatnonzero(self.required)
        by_rule = required[np.argsort(self.rule_of[required], kind="stable")]
        firsts = np.flatnonzero(np.diff(self.rule_of[by_rule], prepend=-1))  # every rule has a required gate
        broken: NDArray[np.bool_] = np.logical_or.reduceat(~self.gates(records)[:, by_rule], firsts, axis=1)
        return broken

    def broken_by(self, record: NDArray[np.int32]) -> tuple[str, ...]:
        """Return the names of the rules that one record (d,) breaks."""
        if not self.names:
            return ()
        broken = self.broken(record[None, :])[0]
        return tuple(name for name, wrong in zip(self.names, broken.tolist(), strict=True) if wrong)

    def only(self, rules: Sequence[int]) -> ThresholdCircuit:
        """Return the circuit of these rules alone."""
        every = np.ones(max(self.term_attributes.size, self.children.size), dtype=np.bool_)
        terms, entries = every[: self.term_attributes.size], every[: self.children.size]
        return self.part(self.bounds, self.required, np.isin(self.rule_of, rules), terms, entries)

    def part(
        self,
        bounds: NDArray[np.int64],
        required: NDArray[np.bool_],
        gates: NDArray[np.bool_],
        terms: NDArray[np.bool_],
        entries: NDArray[np.bool_],
    ) -> ThresholdCircuit:
        """Return the circuit of some gates with some of their terms and children; rules without a required gate are gone.

        Of a circuit of g gates with t terms and c entries of children: `bounds` (g,) are the new bounds, `required`
        (g,) says which gates are required from now on, `gates` (g,) which stay, and `terms` (t,) and `entries` (c,) which
        terms and children of gates that stay remain; such children are themselves among the gates that stay.
        """
        alive = np.zeros(self.number_of_rules, dtype=np.bool_)
        alive[self.rule_of[gates & required]] = True
        gates = gates & alive[self.rule_of]
        term_gate, parent = self.gate_of_term(), self.gate_of_child()
        terms, entries = terms & gates[term_gate], entries & gates[parent]
        number = np.cumsum(gates, dtype=np.int32) - 1
        lengths = np.diff(self.value_starts)
        return ThresholdCircuit(
            tuple(name for name, kept in zip(self.names, alive.tolist(), strict=True) if kept),
            freeze(bounds[gates]),
            freeze(required[gates]),
            freeze((np.cumsum(alive, dtype=np.int32) - 1)[self.rule_of[gates]].astype(np.int32)),
            starts(np.bincount(term_gate[terms], minlength=len(self))[gates]),
            freeze(self.term_attributes[terms]),
            starts(lengths[terms]),
            freeze(self.values[np.repeat(terms, lengths)]),
            starts(np.bincount(parent[entries], minlength=len(self))[gates]),
            freeze(number[self.children[entries]].astype(np.int32)),
            freeze(self.coefficients[entries]),
        )

    def update(self, digest: Hash) -> None:
        """Add the circuit to a hash: names left out, arrays little-endian, the same on every machine."""
        digest.update(
            memoryview(f"dpopt rules {self.number_of_rules} {len(self)} {self.children.size};".encode("ascii"))
        )
        for field in fields(self)[1:]:
            array = getattr(self, field.name)
            digest.update(memoryview(array.astype(array.dtype.newbyteorder("<")).tobytes()))

    def fingerprint(self) -> str:
        """Return the SHA-256 digest (hexadecimal) of the circuit, names left out."""
        digest = hashlib.sha256()
        self.update(digest)
        return digest.hexdigest()

    def _check_shapes(self) -> None:
        gates, terms, entries = self.bounds.size, self.term_attributes.size, self.children.size
        expected = {
            "required": gates,
            "rule_of": gates,
            "term_starts": gates + 1,
            "value_starts": terms + 1,
            "child_starts": gates + 1,
            "coefficients": entries,
        }
        for name, size in expected.items():
            if getattr(self, name).shape != (size,):
                raise SchemaError(f"rules: '{name}' has shape {getattr(self, name).shape}; expected ({size},)")
        for name, size in (("term_starts", terms), ("value_starts", self.values.size), ("child_starts", entries)):
            array = getattr(self, name)
            least = 1 if name == "value_starts" else 0
            if array[0] != 0 or array[-1] != size or (np.diff(array) < least).any():
                raise SchemaError(f"rules: '{name}' must rise from 0 to {size}")

    def _check_order(self) -> None:
        if self.bounds.size == 0:
            if self.names:
                raise SchemaError("rules: a rule without a gate; leave it out")
            return
        if int(self.rule_of.min()) < 0 or int(self.rule_of.max()) >= len(self.names):
            raise SchemaError("rules: a gate belongs to a rule that does not exist")
        if np.unique(self.rule_of[self.required]).size != len(self.names):
            raise SchemaError("rules: every rule needs a gate that must be true")
        owner = self.gate_of_term()
        if ((np.diff(self.term_attributes) <= 0) & (owner[1:] == owner[:-1])).any():
            raise SchemaError("rules: the attributes of a gate's terms must increase")
        parent = self.gate_of_child()
        if (self.children < 0).any() or (self.children >= parent).any():
            raise SchemaError("rules: a child must come before its parent")
        if (self.rule_of[self.children] != self.rule_of[parent]).any():
            raise SchemaError("rules: a child belongs to the rule of its parent")
        if (self.coefficients < 1).any():
            raise SchemaError("rules: the coefficient of a child must be positive")

    def _check_sums(self) -> None:
        totals = np.abs(self.bounds.astype(np.float64))
        low, high = self.term_ranges()
        largest = np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64)))
        np.add.at(totals, self.gate_of_term(), largest)
        np.add.at(totals, self.gate_of_child(), self.coefficients.astype(np.float64))
        if totals.size and float(totals.max()) >= LARGEST_SUM:
            raise SchemaError("rules: the numbers of a comparison are too large; use coarser units")


def starts(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where each of these lengths begins, and where the last one ends; read-only."""
    return freeze(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64))))


_NOTHING: list[Any] = [np.zeros(int("starts" in field.name), dtype=np.int64) for field in fields(ThresholdCircuit)[1:]]
NO_RULES = ThresholdCircuit((), *_NOTHING)
"""The circuit of no rules: every record obeys it."""
