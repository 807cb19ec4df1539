"""Sets of marginals as shapes: which cells there are, without a clause for each of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import WorkloadError
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses
from dpopt.queries.marginal_cells import cell_clauses, cells_fingerprint, shapes_fingerprint
from dpopt.schema.domains import Domains

LARGEST_WRITTEN = 50_000_000  # cells that are written out as clauses, or hashed as such


@dataclass(frozen=True, slots=True, eq=False)
class MarginalSet:
    """M marginals, each over up to k attributes, and the place of every cell in one flat array.

    The cells of a marginal are the combinations of the codes that its attributes may take (`domains`), the last attribute
    running fastest; marginals follow one another. A record lies in exactly one cell of each marginal, or in none where it has
    a code that `domains` leaves out.

    Parameters
    ----------
    domains : Domains
        The codes that cells may name, for every attribute of the schema.
    attributes : (M, k) int32
        Positions of the attributes of each marginal, distinct within a row; -1 is padding at the end of a row.

    Attributes
    ----------
    strides : (M, k) int64
        By how much the cell moves when the position of that attribute's code in its domain grows by one; 0 in padding.
    starts : (M + 1,) int64
        First cell of each marginal; the last entry is the number of all cells.

    Raises
    ------
    WorkloadError
        If a row is empty, names an attribute twice or one that does not exist, or the cells pass 2^62.
    """

    domains: Domains
    attributes: NDArray[np.int32]
    strides: NDArray[np.int64] = field(init=False)
    starts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        attributes = frozen(self.attributes, np.int32)
        object.__setattr__(self, "attributes", attributes)
        if attributes.ndim != 2 or not 1 <= attributes.shape[1] <= LARGEST_WIDTH:
            raise WorkloadError(
                f"marginals: 'attributes' must have shape (M, k) with 1 <= k <= {LARGEST_WIDTH}, found {attributes.shape}"
            )
        used = attributes >= 0
        ordered = np.sort(attributes, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        wrong = ~used[:, 0] | (used[:, 1:] & ~used[:, :-1]).any(axis=1) | twice.any(axis=1)
        if wrong.any() or int(attributes.max(initial=-1)) >= self.domains.counts.size:
            raise WorkloadError(
                "marginals: each needs at least one attribute, no attribute twice, padding (-1) at its end only, and "
                f"attributes below {self.domains.counts.size}"
            )
        shapes = np.where(used, self.domains.counts[attributes], 1)
        if float(np.prod(shapes.astype(np.float64), axis=1).sum()) >= 2.0**62:
            raise WorkloadError("marginals: there are 2^62 cells or more; use fewer or smaller marginals")
        after = np.cumprod(shapes[:, ::-1], axis=1)[:, ::-1]  # product of this and all later shapes
        cells = after[:, 0]
        strides = np.where(used, after // shapes, 0)
        object.__setattr__(self, "strides", freeze(strides.astype(np.int64)))
        object.__setattr__(self, "starts", freeze(np.concatenate(([0], np.cumsum(cells, dtype=np.int64)))))

    def __reduce__(self) -> tuple[type[MarginalSet], tuple[Domains, NDArray[np.int32]]]:
        return MarginalSet, (self.domains, self.attributes)

    def __len__(self) -> int:
        """Return the number of marginals M."""
        return int(self.attributes.shape[0])

    @property
    def number_of_cells(self) -> int:
        """Number of cells of all marginals."""
        return int(self.starts[-1])

    def cells(self) -> NDArray[np.int64]:
        """Return the number of cells of each marginal, (M,)."""
        return np.diff(self.starts)

    def widths(self) -> NDArray[np.int64]:
        """Return the number of attributes of each marginal, (M,)."""
        return np.asarray(np.count_nonzero(self.attributes >= 0, axis=1), dtype=np.int64)

    def attributes_of(self, marginal: int) -> tuple[int, ...]:
        """Return the positions of the attributes of one marginal."""
        return tuple(int(a) for a in self.attributes[marginal] if a >= 0)

    def take(self, marginals: NDArray[np.integer] | list[int]) -> MarginalSet:
        """Return the marginals at these positions, in this order."""
        return MarginalSet(self.domains, freeze(self.attributes[np.asarray(marginals, dtype=np.int64)]))

    def check_against(self, sizes: NDArray[np.integer]) -> None:
        """Check that the domains name attributes and codes that exist.

        Parameters
        ----------
        sizes : (d,) integers
            Number of codes of each attribute.

        Raises
        ------
        WorkloadError
            If there are more or fewer attributes, or a code is out of range.
        """
        counts, codes = self.domains.counts, self.domains.codes
        if counts.size != len(sizes):
            raise WorkloadError(
                f"the marginals are over {counts.size} attributes; the schema has {len(sizes)}"
            )
        bounds = np.repeat(np.asarray(sizes, dtype=np.int64), counts)
        wrong = (codes < 0) | (codes >= bounds)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise WorkloadError(
                f"the marginals name code {int(codes[place])} of attribute number "
                f"{int(np.repeat(np.arange(counts.size), counts)[place])}, which has the codes 0 .. {int(bounds[place]) - 1}"
            )

    def clauses(self) -> Clauses:
        """Return one conjunction per cell, in the order of the cells; for large sets that is a lot of memory.

        Raises
        ------
        WorkloadError
            If there are more than 50 million cells.
        """
        if self.number_of_cells > LARGEST_WRITTEN:
            raise WorkloadError(
                f"{self.number_of_cells:,} cells of marginals were to be written out one by one, more than the "
                f"{LARGEST_WRITTEN:,} that are possible; choose an algorithm that works with whole marginals, or fewer or "
                "smaller marginals"
            )
        return cell_clauses(self, 0, self.number_of_cells)

    def clause_of(self, cell: int) -> Clauses:
        """Return the conjunction of one cell, as clauses of length 1.

        Raises
        ------
        WorkloadError
            If there is no such cell.
        """
        if not 0 <= cell < self.number_of_cells:
            raise WorkloadError(
                f"cell {cell} was asked for; there are {self.number_of_cells:,}, numbered from 0"
            )
        return cell_clauses(self, cell, cell + 1)

    def fingerprint(self) -> str:
        """Return a SHA-256 digest (hexadecimal) that tells these cells from others.

        Up to 50 million cells it is that of `clauses()`, part by part; beyond, that of the domains and attributes.
        """
        return (
            cells_fingerprint(self) if self.number_of_cells <= LARGEST_WRITTEN else shapes_fingerprint(self)
        )

    def position_tables(self, sizes: NDArray[np.integer] | None = None) -> list[NDArray[np.int32]]:
        """Return for each attribute the position of every code in its domain, -1 for codes that the domain leaves out.

        Parameters
        ----------
        sizes : (d,) integers, optional
            Number of codes of each attribute; up to the largest code of the domain if left out.
        """
        tables = []
        for attribute, (start, count) in enumerate(
            zip(self.domains.starts.tolist(), self.domains.counts.tolist(), strict=True)
        ):
            codes = self.domains.codes[start : start + count]
            size = int(codes.max(initial=-1)) + 1 if sizes is None else int(sizes[attribute])
            table = np.full(size, -1, dtype=np.int32)
            table[codes] = np.arange(count, dtype=np.int32)
            tables.append(freeze(table))
        return tables
