"""The universe of a small database: classes of records that a workload distinguishes, and a record of each class."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.measured.plan import domains_of
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.public_random import permutation, public_stream
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet, over
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.public_population.population import mentioned_attributes, random_codes
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.domains import Domains

MOST_CELLS = 1 << 18
MOST_ANSWERS = 1 << 26
MANY_BINS = 1_000
_ANSWERS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Universe:
    """All records of a schema that obey its rules, in classes of equal answers; public.

    Attributes that neither a query nor a rule mentions have one code here, and public random ones in `spread`. What is
    held does not grow with their number. No query distinguishes two records of a class, so the multisets of m classes
    answer the workload in every way in which the multisets of m records do: the net is as fine, and smaller, C(A + m -
    1, m) instead of C(|X| + m - 1, m).
    """

    named: NDArray[np.int64]
    """Shape (a,). The attributes that a query or a rule mentions, increasing; attribute 0 where none is mentioned."""
    codes: NDArray[np.int32]
    """Shape (r, a). Their codes in each record, in lexicographic order."""
    element: NDArray[np.int64]
    """Shape (r,). The class of each record, from 0, numbered by first occurrence."""
    answers: NDArray[np.int8]
    """Shape (k, A). Value of each query on the records of each class, 0 or 1."""
    domains: Domains
    """The codes that may occur."""
    left_out: NDArray[np.int64]
    """Shape (u,). All other attributes."""

    @property
    def elements(self) -> int:
        """Number A of classes."""
        return int(self.answers.shape[1])

    @property
    def records(self) -> NDArray[np.int32]:
        """The records, (r, d), with the first of their codes where no query or rule names them."""
        return _whole_records(self.domains, self.named, self.codes)

    @classmethod
    def of(cls, workload: Workload) -> Universe:
        """Return the universe of a workload."""
        domains = domains_of(workload)
        mentioned = mentioned_attributes(workload)
        named = mentioned if mentioned.size else np.zeros(1, dtype=np.int64)
        counts = domains.counts[named]
        cells, queries = prod(counts.tolist()), len(workload)
        if cells > MOST_CELLS or cells * queries > MOST_ANSWERS:
            raise PlanError(
                f"smalldb lists every possible record over the attributes that queries name: here {cells:,} records "
                f"with {queries:,} answers each; at most "
                f"{MOST_CELLS:,} records and {MOST_ANSWERS:,} answers are possible. Use --algorithm projection or "
                "dualquery, or a schema with fewer and coarser attributes" + _on_fine_attributes(workload)
            )
        # The others would be dimensions of the grid, which NumPy has 64 of.
        several = np.flatnonzero(counts > 1)
        places = np.zeros((len(counts), cells), dtype=np.int64)
        places[several] = np.indices(counts[several].tolist(), dtype=np.int64).reshape(several.size, cells)
        codes = domains.codes[places.T + domains.starts[named]]
        rules = workload.schema.circuit()
        if rules.number_of_rules:
            codes = codes[~rules.broken(_whole_records(domains, named, codes)).any(axis=1)]
        codes = freeze(np.ascontiguousarray(codes, dtype=np.int32))
        if not len(codes):
            raise PlanError("no record of codes that occur obeys the rules; leave ',occurring' out of the workload")
        truth_of_records = answers_on_each(over(named, workload.queries, domains.counts.size), codes)
        element, first = _classes(truth_of_records)
        answers = freeze(np.ascontiguousarray(truth_of_records[first].T))
        left_out = np.setdiff1d(np.arange(domains.counts.size), named)
        return cls(named, codes, freeze(element), answers, domains, left_out)

    def spread(self, elements: NDArray[np.int64], counts: NDArray[np.int64], *, seed: int) -> NDArray[np.int32]:
        """Return records (m, d) of a multiset of classes: each class is dealt out over its records in a public random order."""
        codes = []
        for element, count in zip(elements.tolist(), counts.tolist(), strict=True):
            members = np.flatnonzero(self.element == element)
            order = members[permutation(public_stream(seed, f"records of class {element}"), len(members))]
            codes.append(self.codes[np.resize(order, count)])
        records = _whole_records(self.domains, self.named, np.concatenate(codes))
        return random_codes(records, self.domains, self.left_out, seed)


def answers_on_each(queries: MarginalSet | Clauses, records: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return the value of each query on each record, (r, k): 0 or 1."""
    if isinstance(queries, MarginalSet):
        from dpopt.queries.counting.marginal_kernels import cells_of_records

        cells = cells_of_records(queries, records)
        truth = np.zeros((len(records), queries.number_of_cells), dtype=np.int8)
        row, marginal = np.nonzero(cells >= 0)
        truth[row, cells[row, marginal]] = 1
        return truth
    truth = np.empty((len(records), len(queries)), dtype=np.int8)
    step = max(1, _ANSWERS_AT_ONCE // (len(records) * queries.width))
    for first in range(0, len(queries), step):
        part = queries.take(np.arange(first, min(first + step, len(queries))))
        equal = records[:, part.attributes] == part.values
        true = ((equal == part.signs) & (part.attributes >= 0)).sum(axis=2)
        truth[:, first : first + step] = (part.accepted[None, :] >> true.astype(np.uint32)) & 1
    return truth


def _whole_records(domains: Domains, named: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return records (r, d) with these codes (r, a) of some attributes, and the first code of every other one."""
    records = np.tile(domains.codes[domains.starts], (len(codes), 1))
    records[:, named] = codes
    return records


def _on_fine_attributes(workload: Workload) -> str:
    """Return a warning if a numeric attribute has a thousand bins or more."""
    for attribute in workload.schema.attributes:
        if attribute.kind is AttributeKind.NUMERIC and attribute.size >= MANY_BINS:
            return (
                f". Attribute {attribute.name!r} has many bins, and bins are what makes answers possible: on a "
                f"continuous domain no epsilon-differentially private mechanism answers intervals with errors below "
                f"1/2, for any epsilon and any number of records (Blum, Ligett and Roth 2013, Theorem 5.1 and "
                f"Corollary 5.2)"
            )
    return ""


def _classes(truth_of_records: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each row (r, k), numbered by first occurrence, and the first row of each class."""
    packed = np.packbits(truth_of_records, axis=1)
    keys = np.ascontiguousarray(packed).view([("", packed.dtype)] * packed.shape[1]).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return number[inverse.ravel()], first[order]
