"""Maximum constraint satisfaction over weighted clauses: the natural form of a best response."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt, frozen
from dpopt.constraints import constrain
from dpopt.errors import ProgramError
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit

LARGEST_TOTAL_WEIGHT = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class MaxCsp(Rebuilt):
    """Choose a code for every attribute so that the clauses that come true weigh most and every rule holds.

    maximize  sum_j weights[j] * [clause j is true of x]
    subject to  x[a] in {0, ..., sizes[a] - 1},  every required gate of `rules` is true of x.
    """

    sizes: NDArray[np.int32]
    """Shape (d,). Number of codes of each attribute, >= 1."""
    clauses: Clauses
    """m clauses over these attributes."""
    weights: NDArray[np.int64]
    """Shape (m,). Weight of each clause, not 0, of either sign; the absolute weights sum to less than 2**62."""
    rules: ThresholdCircuit = NO_RULES
    """Hard rules on the record; none if left out."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        if self.sizes.ndim != 1 or (self.sizes.size and int(self.sizes.min()) < 1):
            raise ProgramError("sizes must be a flat array of numbers of codes, each at least 1")
        if self.weights.shape != (len(self.clauses),):
            raise ProgramError(f"weights have shape {self.weights.shape}; there are {len(self.clauses)} clauses")
        if not self.weights.all():
            raise ProgramError(f"clause {int(np.argmin(self.weights != 0))} has weight 0; leave such clauses out")
        if float(np.abs(self.weights.astype(np.float64)).sum()) >= LARGEST_TOTAL_WEIGHT:
            raise ProgramError("the absolute weights sum to 2**62 or more; scale them down")
        if self.sizes.size or int(self.clauses.attributes.max(initial=-1)) >= 0:
            self.clauses.check_against(self.sizes)
        self.rules.check_against(self.sizes)

    @property
    def number_of_attributes(self) -> int:
        """Number of attributes d."""
        return self.sizes.size

    def offsets(self) -> NDArray[np.int64]:
        """Return the flat column of code 0 of each attribute and, last, the number of columns, (d + 1,)."""
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.sizes, dtype=np.int64)))

    def objective(self, record: NDArray[np.int32]) -> int:
        """Return the weight of the clauses that are true of a record (d,) of existing codes: exact integer arithmetic."""
        from dpopt.queries.counting.kernels import satisfied  # imports numba

        self.require_record(record)
        return int(self.weights[satisfied(self.clauses, frozen(record, np.int32))].sum())

    def broken_rules(self, record: NDArray[np.int32]) -> tuple[str, ...]:
        """Return the names of the rules that a record (d,) int32 of existing codes breaks."""
        self.require_record(record)
        return self.rules.broken_by(frozen(record, np.int32))

    def upper_bound(self) -> int:
        """Return the sum of the positive weights: a bound on every objective, proven by inspection."""
        return int(self.weights[self.weights > 0].sum())

    def domain_violation(self, record: NDArray[np.int32]) -> int:
        """Return by how much the worst code of a record (d,) lies outside its attribute's range; 0 if none does."""
        if record.shape != self.sizes.shape:
            raise ProgramError(f"the record has shape {record.shape}; this program has {self.sizes.size} attributes")
        if record.size == 0:
            return 0
        if int(record.min()) >= 0 and not (record >= self.sizes).any():
            return 0
        codes = record.astype(np.int64)
        return max(int((-codes).max()), int((codes - self.sizes + 1).max()))

    def require_record(self, record: NDArray[np.int32]) -> None:
        """Raise ProgramError unless the record holds one existing code for every attribute."""
        if self.domain_violation(record):
            codes = record.astype(np.int64)
            worst = int(np.argmax(np.maximum(-codes, codes - self.sizes + 1)))
            raise ProgramError(
                f"the record has code {int(record[worst])} for attribute {worst}; "
                f"expected 0 to {int(self.sizes[worst]) - 1}"
            )

    def fingerprint(self) -> str:
        """Return the SHA-256 of sizes, clauses, weights and rules in their order, in hex; the same on every machine."""
        digest = hashlib.sha256(f"max-csp 1 {self.sizes.size} {len(self.clauses)}\n".encode())
        digest.update(self.sizes.astype("<i4").tobytes())
        digest.update(self.weights.astype("<i8").tobytes())
        self.clauses.update(digest)
        if self.rules.number_of_rules:
            self.rules.update(digest)
        return digest.hexdigest()


def require_max_csp(program: object, solver: str) -> MaxCsp:
    """Return the program; ProgramError if it is of a kind that this solver of weighted clauses does not take."""
    if not isinstance(program, MaxCsp):
        raise ProgramError(
            f"{solver} takes a MaxCsp, not a {type(program).__name__}; hand that to a solver of such programs itself"
        )
    return program
