"""The marginals of a problem laid out for the kernels, without a loop over cells or records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.queries.marginal_set import MarginalSet

if TYPE_CHECKING:
    from dpopt.inference.records.table_kernels import Place, Tables

FINEST = 2**16
"""Prices are multiples of at least 1 / 65,536 of a record, and of no less where that does not fit into 31 bits."""

COARSEST = 2**8  # below, prices are held in 64 bits instead


@dataclass(frozen=True, slots=True, eq=False)
class MarginalTerms:
    """The marginals of all terms together, in the order of the terms.

    Attributes
    ----------
    terms : tuple of FitTerm
        The terms that hold marginals.
    sets : tuple of MarginalSet
    firsts : (terms + 1,) int64
        First marginal of each.
    attributes, shapes : (M, k) int64
        Attributes of each marginal (-1: padding), and how many codes its cells name (padding: 1).
    weights : (M,) float64
    """

    terms: tuple[FitTerm, ...]
    sets: tuple[MarginalSet, ...]
    firsts: NDArray[np.int64]
    attributes: NDArray[np.int64]
    shapes: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, terms: tuple[FitTerm, ...]) -> MarginalTerms:
        """Return the marginals of those terms that hold marginals."""
        pairs = [(one, one.queries) for one in terms if isinstance(one.queries, MarginalSet)]
        chosen, sets = tuple(one for one, _ in pairs), tuple(one for _, one in pairs)
        lengths = np.array([len(one) for one in sets], dtype=np.int64)
        firsts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
        width = max((one.attributes.shape[1] for one in sets), default=1)
        attributes = np.full((int(firsts[-1]), width), -1, dtype=np.int64)
        shapes = np.ones_like(attributes)
        for first, one in zip(firsts.tolist(), sets, strict=False):  # a loop over terms
            part = np.s_[first : first + len(one), : one.attributes.shape[1]]
            attributes[part] = one.attributes
            shapes[part] = np.where(one.attributes >= 0, one.domains.counts[one.attributes], 1)
        weights = np.repeat(np.array([one.weight for one in chosen], dtype=np.float64), lengths)
        return cls(chosen, sets, firsts, attributes, shapes, weights)

    def __len__(self) -> int:
        """Return the number of marginals M."""
        return self.weights.size

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of cells of each marginal, (M,)."""
        return np.asarray(np.prod(self.shapes, axis=1), dtype=np.int64)

    def largest_value(self) -> float:
        """Return the largest absolute value of a cell."""
        return largest_value(self.terms)


def largest_value(terms: tuple[FitTerm, ...]) -> float:
    """Return the largest absolute value of some terms; 0 if there is none."""
    return max((float(np.abs(one.values).max(initial=0.0)) for one in terms), default=0.0)


def scale_of(largest: float, records: float) -> tuple[int, type[np.int32 | np.int64]]:
    """Return SCALE, and the type that holds the prices where values are up to `largest` shares of so many records."""
    range_ = records * (largest + 1.0) + 1.0
    scale = 2.0 ** np.floor(np.log2((2.0**31 - 1) / range_))
    if scale >= COARSEST:
        return int(min(scale, FINEST)), np.int32
    scale = 2.0 ** np.floor(np.log2(2.0**62 / range_))
    if scale < COARSEST:
        raise ProgramError(
            f"values of up to {largest:.1e} cannot be fitted by {records:,.0f} records; noise so large leaves nothing to fit"
        )
    return int(min(scale, FINEST)), np.int64


def lay_out_tables(problem: FitProblem, marginals: MarginalTerms, records: int) -> Tables:
    """Return tables without records, for up to `records` of them that are to have the values of the terms."""
    from dpopt.inference.records import table_kernels as kernels

    scale, dtype = scale_of(marginals.largest_value(), records)
    groups = _Groups.of(problem, marginals)
    marginal, turn = groups.marginal, groups.turn
    used = marginals.attributes >= 0
    slot = np.full(used.shape, -1, dtype=np.int64)
    slot[marginal, turn] = np.arange(marginal.size)
    sizes = marginals.cells[marginal]
    steps = _steps(marginals.shapes[marginal], turn)
    peers = slot[marginal]
    tables = kernels.Tables(
        prices=np.empty(int(sizes.sum()), dtype=dtype),
        scale=scale,
        weights=marginals.weights[marginal] / scale,
        marginals=marginal,
        firsts=np.cumsum(sizes) - sizes,
        groups=np.where(peers >= 0, groups.of_slot[peers], -1),
        steps=steps,
        peers=peers,
        peer_steps=np.where(peers >= 0, steps[peers, turn[:, None]], 0),
        last_slots=slot[np.arange(len(marginals)), used.sum(axis=1) - 1],
        group_start=groups.starts,
        group_attribute=groups.attribute,
        slot_start=groups.slot_start,
        code_start=groups.code_start,
        group_code=groups.codes,
        place_start=groups.place_start,
        group_place=groups.places,
    )
    for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
        shapes = marginals.shapes[first : first + len(one)]
        kernels.write_prices(
            tables, first, one.starts[:-1], shapes, term.values, float(records * scale), scale // 2
        )
    return tables


def marginal_error(tables: Tables, marginals: MarginalTerms, records: int) -> float:
    """Return 1/2 sum_g weight_g ||A_g p - values_g||^2 over the marginals, for the records that the tables count."""
    from dpopt.inference.records import table_kernels as kernels

    total = 0.0
    for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
        squares = kernels.squared_errors(
            tables, first, one.starts[:-1], one.cells(), term.values, float(records)
        )
        total += 0.5 * term.weight * squares
    return total


def new_place(tables: Tables) -> Place:
    """Return a place; `put` fills it in."""
    from dpopt.inference.records.table_kernels import Place

    return Place(
        cell=np.zeros(tables.firsts.size, dtype=np.int64),
        missing=np.zeros(tables.last_slots.size, dtype=np.int64),
        position=np.zeros(tables.group_attribute.size, dtype=np.int64),
        sums=np.zeros(int(np.diff(tables.code_start).max(initial=1))),
    )


def _steps(shapes: NDArray[np.int64], turn: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (e, k): the stride of each attribute in the table where that of `turn` runs fastest, the others in their order."""
    own = np.take_along_axis(shapes, turn[:, None], axis=1)
    others = shapes.copy()
    np.put_along_axis(others, turn[:, None], 1, axis=1)
    # product of all later shapes but the own one
    after = np.cumprod(others[:, ::-1], axis=1)[:, ::-1] // others
    steps = after * own
    np.put_along_axis(steps, turn[:, None], 1, axis=1)
    return steps


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The slots in their order, and in groups of one attribute whose cells name the same codes; fields as in `Tables`."""

    marginal: NDArray[np.int64]
    turn: NDArray[np.int64]  # which of its marginal's attributes the slot stands for
    of_slot: NDArray[np.int64]
    starts: NDArray[np.int64]
    attribute: NDArray[np.int64]
    slot_start: NDArray[np.int64]
    code_start: NDArray[np.int64]
    codes: NDArray[np.int64]
    place_start: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, problem: FitProblem, marginals: MarginalTerms) -> _Groups:
        marginal, turn = np.nonzero(marginals.attributes >= 0)
        attribute = marginals.attributes[marginal, turn]
        kind_of_term, kinds = _kinds(marginals.sets, problem.sizes.size)
        term = np.searchsorted(marginals.firsts, marginal, side="right") - 1
        different = max(len(kinds), 1)
        key = attribute * different + kind_of_term[term, attribute]
        order = np.argsort(key, kind="stable")
        keys, of_slot = np.unique(key[order], return_inverse=True)
        owner = keys // different
        codes = [kinds[int(one) % different] for one in keys]  # groups: attributes times different domains
        lengths = np.array([one.size for one in codes], dtype=np.int64)
        sizes = problem.sizes[owner].astype(np.int64)
        place_start = np.cumsum(sizes) - sizes
        places = np.full(int(sizes.sum()), -1, dtype=np.int64)
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *codes])
        firsts = np.cumsum(lengths) - lengths
        places[np.repeat(place_start, lengths) + flat] = np.arange(flat.size) - np.repeat(firsts, lengths)
        return cls(
            marginal[order],
            turn[order],
            of_slot.astype(np.int64),
            np.searchsorted(owner, np.arange(problem.sizes.size + 1)),
            owner,
            np.searchsorted(of_slot, np.arange(keys.size + 1)),
            np.concatenate((firsts, [flat.size])).astype(np.int64),
            flat,
            place_start,
            places,
        )


def _kinds(sets: tuple[MarginalSet, ...], d: int) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return (terms, d) which list of codes each term has for each attribute, and the different lists."""
    known: dict[bytes, int] = {}
    lists: list[NDArray[np.int64]] = []
    kinds = np.zeros((len(sets), d), dtype=np.int64)
    for term, one in enumerate(sets):
        for attribute, (start, count) in enumerate(
            zip(one.domains.starts.tolist(), one.domains.counts.tolist(), strict=True)
        ):
            codes = one.domains.codes[start : start + count].astype(np.int64)
            key = codes.tobytes()
            if key not in known:
                known[key] = len(lists)
                lists.append(codes)
            kinds[term, attribute] = known[key]
    return kinds, lists
