"""Measurements of conjunctions and of decision lists: how many records or rows satisfy each of a number of literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Whole, constrain
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.noisy_counts import Scale, noise_charge
from dpopt.private.tables.closed import Declared
from dpopt.private.tables.dataset import PrivateDataset, Progress
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.conjunctions.literals import LARGEST_SIZE, ChosenLiterals
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import LARGEST_LENGTH
from dpopt.threads import USUAL


class ListTable(Declared[PrivateLists, ListCoefficients]):
    """Rows, the coefficients of the family by which they were read, and each row's count in each conjunction."""

    __slots__ = ()

    @classmethod
    def _check(cls, records: PrivateLists, public: ListCoefficients) -> None:
        if records._family != public.family:
            raise PrivateDataError("the rows were read by another declaration than that of the coefficients")

    def count(self) -> None:
        """Count, for the measurements to come; nothing leaves."""
        from dpopt.queries.decision_lists.kernels import count_in_lists

        lists, coefficients = self._records, self._public
        counts = count_in_lists(
            lists._variables,
            lists._positive,
            lists._bits,
            coefficients.values,
            2**coefficients.bits,
            len(coefficients.family.variables),
        )
        self._keep(counts)


@dataclass(frozen=True, slots=True)
class _Conjunctions:
    """All conjunctions of a number of literals, and the noise on the count of each."""

    size: int
    """How many literals."""
    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in records, or in units of
    coefficients."""
    gaussian: bool
    """Which of the two."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)


@dataclass(frozen=True, slots=True)
class ListCounts(_Conjunctions):
    """Counts of the rows in all conjunctions of k literals; k = 0 is the empty one, which is always true."""

    size: Annotated[int, Whole("the number of literals", least=0, most=LARGEST_LENGTH)]

    @property
    def name(self) -> str:
        """The name of the counts."""
        if self.size == 0:
            return "lists at the empty conjunction"
        return "lists at single literals" if self.size == 1 else f"lists at conjunctions of {self.size} literals"

    def charge(self, coefficients: ListCoefficients, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** `ListCoefficients.sensitivity`: the largest distance between the counts of neighbours, in L1
        for Laplace and in L2 for Gaussian noise, over all rows of the declared family. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C10 in docs/privacy. Test:
        `tests/private/test_list_curator.py`.
        """
        if self.size > coefficients.largest_size:
            raise PlanError(
                f"found conjunctions of {self.size} literals; the coefficients end at {coefficients.largest_size}"
            )
        sensitivity = coefficients.sensitivity(
            self.size, replaced=relation is NeighbouringRelation.REPLACE_ONE, squared=self.gaussian
        )
        return noise_charge(self, sensitivity, relation)

    def exact(self, table: ListTable, *_: object) -> NDArray[np.int64]:
        """Return the exact counts. Private."""
        if table._counts is None:
            table.count()
        counts: NDArray[np.int64] = table._counts[self.size]
        return counts


class ConjunctionTable(Declared[PrivateDataset, ChosenLiterals]):
    """Records of the attributes of some literals, and how many satisfy each conjunction."""

    __slots__ = ()

    @classmethod
    def _check(cls, records: PrivateDataset, public: ChosenLiterals) -> None:
        if records._schema.fingerprint() != public.schema.fingerprint():
            raise PrivateDataError("the table was read with other attributes than those of the literals")

    def count(self, most: int, *, threads: int = USUAL, progress: Progress | None = None) -> None:
        """Count all conjunctions of 1, ..., `most` literals, for the measurements to come; nothing leaves."""
        from dpopt.queries.counting.subset_kernels import count_subsets

        words = packed_literals(self._records, self._public)
        self._keep(count_subsets(words, self._public.groups, most, threads=threads, progress=progress))


def packed_literals(dataset: PrivateDataset, literals: ChosenLiterals) -> NDArray[np.uint64]:
    """Return for each literal a row of bits that say which records satisfy it. Private."""
    from dpopt.queries.counting.packing_kernels import pack_codes

    schema = dataset._schema
    every = np.arange(schema.number_of_columns, dtype=np.int32)
    words, _ = pack_codes(dataset._columns, schema.sizes, every)
    rows = [int(schema.offsets[attribute]) + code for attribute, codes in enumerate(literals.codes) for code in codes]
    return words[rows]


@dataclass(frozen=True, slots=True)
class ConjunctionCounts(_Conjunctions):
    """How many records satisfy all conjunctions of a number of literals, at least 1."""

    size: Annotated[int, Whole("the number of literals", most=LARGEST_SIZE)]

    @property
    def name(self) -> str:
        """The name of the counts."""
        return "single literals" if self.size == 1 else f"conjunctions of {self.size} literals"

    def charge(self, literals: ChosenLiterals, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** `LiteralGroups.sensitivity`: so many counts differ between neighbours, each by 1 (L1; its root
        in L2). **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C8 in docs/privacy. Test:
        `tests/private/test_conjunction_curator.py`.
        """
        sensitivity = literals.groups.sensitivity(self.size, replaced=relation is NeighbouringRelation.REPLACE_ONE)
        return noise_charge(self, sensitivity, relation)

    def exact(self, table: ConjunctionTable, relation: NeighbouringRelation, threads: int = USUAL) -> NDArray[np.int64]:
        """Return the counts. Private."""
        if table._counts is None or len(table._counts) < self.size:
            table.count(self.size, threads=threads)
        counts: NDArray[np.int64] = table._counts[self.size - 1]
        return counts
