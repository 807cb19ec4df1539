"""The queries of a problem laid out for the kernels: marginals, clauses, and clauses of at most three literals as polynomials.

No layout loops over cells, records or clauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses
from dpopt.queries.marginal_set import MarginalSet

if TYPE_CHECKING:
    from dpopt.inference.records.clause_kernels import Listed, Monomials, Sight, Truth
    from dpopt.inference.records.table_kernels import Place, Tables

FINEST = 2**16
"""Prices are multiples of at least 1 / 65,536 of a record, and of no less where that does not fit into 31 bits."""

COARSEST = 2**8  # below, prices are held in 64 bits instead


@dataclass(frozen=True, slots=True, eq=False)
class MarginalTerms:
    """The marginals of all terms together, in the order of the terms."""

    terms: tuple[FitTerm, ...]
    """The terms that hold marginals."""
    sets: tuple[MarginalSet, ...]
    firsts: NDArray[np.int64]
    """Shape (terms + 1,). First marginal of each."""
    attributes: NDArray[np.int64]
    shapes: NDArray[np.int64]
    """Shape (M, k). Attributes of each marginal (-1: padding), and how many codes its cells name (padding: 1)."""
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


def largest_value(terms: tuple[FitTerm, ...]) -> float:
    """Return the largest absolute value of some terms; 0 if there is none."""
    return max((float(np.abs(one.values).max(initial=0.0)) for one in terms), default=0.0)


def scale_of(largest: float, records: float) -> tuple[int, type[np.int32 | np.int64]]:
    """Return SCALE, and the type that holds the prices for values of up to `largest` shares of this number of records."""
    range_ = records * (largest + 1.0) + 1.0
    scale = 2.0 ** np.floor(np.log2((2.0**31 - 1) / range_))
    if scale >= COARSEST:
        return int(min(scale, FINEST)), np.int32
    scale = 2.0 ** np.floor(np.log2(2.0**62 / range_))
    if scale < COARSEST:
        raise ProgramError(
            f"values of up to {largest:.1e} cannot be fitted by {records:,.0f} records; noise so large leaves nothing "
            f"to fit"
        )
    return int(min(scale, FINEST)), np.int64


def lay_out_tables(problem: FitProblem, marginals: MarginalTerms, records: int) -> Tables:
    """Return tables without records, for up to `records` of them that are to have the values of the terms."""
    from dpopt.compilation import LANES
    from dpopt.inference.records import table_kernels as kernels

    scale, dtype = scale_of(largest_value(marginals.terms), records)
    groups = _Groups.of(problem, marginals)
    marginal, turn = groups.marginal, groups.turn
    used = marginals.attributes >= 0
    slot = np.full(used.shape, -1, dtype=np.int64)
    slot[marginal, turn] = np.arange(marginal.size)
    sizes = marginals.cells[marginal]
    steps = _steps(marginals.shapes[marginal], turn)
    of_marginal = np.where(slot >= 0, groups.of_slot[slot], groups.attribute.size)
    others = np.broadcast_to(np.arange(used.shape[1]), steps.shape) != turn[:, None]
    tables = kernels.Tables(
        prices=np.zeros(int(sizes.sum()) + LANES, dtype=dtype),
        scale=scale,
        weights=marginals.weights[marginal] / scale,
        firsts=np.cumsum(sizes) - sizes,
        others=of_marginal[marginal][others].reshape(turn.size, used.shape[1] - 1),
        other_steps=steps[others].reshape(turn.size, used.shape[1] - 1),
        slots=slot,
        steps=steps,
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
        kernels.write_prices(tables, first, one.starts[:-1], shapes, term.values, float(records * scale), scale // 2)
    return tables


def marginal_error(tables: Tables, marginals: MarginalTerms, records: int) -> float:
    """Return 1/2 sum_g weight_g ||A_g p - values_g||^2 over the marginals, for the records that the tables count."""
    from dpopt.inference.records import table_kernels as kernels

    total = 0.0
    for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
        squares = kernels.squared_errors(tables, first, one.starts[:-1], one.cells(), term.values, float(records))
        total += 0.5 * term.weight * squares
    return total


def new_place(tables: Tables) -> Place:
    """Return a place; `put` fills it in."""
    from dpopt.compilation import LANES
    from dpopt.inference.records.table_kernels import Place

    groups = tables.group_attribute.size + 1
    widest = int(np.diff(tables.slot_start).max(initial=1))
    largest = int(np.diff(tables.code_start).max(initial=1))
    return Place(
        position=np.zeros(groups, dtype=np.int64),
        home=np.zeros(groups, dtype=np.int64),
        state=np.zeros(groups, dtype=np.int64),
        rows=np.zeros(widest, dtype=np.int64),
        charges=np.zeros(widest),
        sums=np.zeros(-(-largest // LANES) * LANES),
    )


def _steps(shapes: NDArray[np.int64], turn: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (e, k): the stride of each attribute in the table with that of `turn` fastest, others in order."""
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
        for attribute in range(d):
            codes = one.domains.codes_of(attribute).astype(np.int64)
            key = codes.tobytes()
            if key not in known:
                known[key] = len(lists)
                lists.append(codes)
            kinds[term, attribute] = known[key]
    return kinds, lists


@dataclass(frozen=True, slots=True, eq=False)
class ClauseTerms:
    """Clauses of all terms together, in the order of the terms."""

    terms: tuple[FitTerm, ...]
    """The terms that hold clauses."""
    rows: tuple[NDArray[np.int64], ...]
    """Which clauses of each term are meant, increasing."""
    starts: NDArray[np.int64]
    """Shape (terms + 1,). First clause of each term when the clauses meant follow one another."""

    @classmethod
    def of(cls, terms: tuple[FitTerm, ...], least: int = 0, most: int = LARGEST_WIDTH) -> ClauseTerms:
        """Return the clauses whose number of literals is within these bounds."""
        chosen = tuple(one for one in terms if isinstance(one.queries, Clauses))
        widths = (clauses_of(one).widths() for one in chosen)
        rows = tuple(np.flatnonzero((least <= each) & (each <= most)) for each in widths)
        starts = np.cumsum([0, *(one.size for one in rows)], dtype=np.int64)
        return cls(chosen, rows, starts)

    def __len__(self) -> int:
        """Return the number of clauses m."""
        return int(self.starts[-1])

    @property
    def width(self) -> int:
        """Number of literals that the clauses of every term have room for."""
        return max((clauses_of(one).width for one in self.terms), default=1)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each term, (terms,)."""
        return np.array([one.weight for one in self.terms], dtype=np.float64)

    def values(self) -> NDArray[np.float64]:
        """Return the values of the clauses, (m,)."""
        return np.concatenate(
            [np.zeros(0), *(one.values[rows] for one, rows in zip(self.terms, self.rows, strict=True))]
        )

    def counts(self, records: NDArray[np.int32], sizes: NDArray[np.int32], threads: int) -> NDArray[np.int64]:
        """Return of how many of the records (r, d) each clause is true, (m,)."""
        from dpopt.queries.counting.kernels import count_on_records

        counts = [np.zeros(0, dtype=np.int64)]
        for one, rows in zip(self.terms, self.rows, strict=True):  # a loop over terms
            if rows.size:
                counts.append(count_on_records(clauses_of(one).take(rows), records, sizes, threads=threads))
        return np.concatenate(counts)


def clauses_of(term: FitTerm) -> Clauses:
    """Return the clauses of a term that holds clauses."""
    if not isinstance(term.queries, Clauses):
        raise ProgramError("this term holds marginals, no clauses")
    return term.queries


def lay_out_clauses(problem: FitProblem, clauses: ClauseTerms, records: int) -> Listed:
    """Return clauses without records, for up to `records` of them that are to have the values of the terms."""
    from dpopt.inference.records.clause_kernels import Listed

    scale, dtype = scale_of(largest_value(clauses.terms), records)
    literals, accepted = clause_literals(problem, clauses, clauses.width)
    spare = int(problem.offsets()[-1])
    columns = np.where(literals < 0, ~literals, literals)
    used = columns != spare
    place = np.broadcast_to(np.arange(len(clauses), dtype=np.int32)[:, None], literals.shape)
    entries = np.where(literals >= 0, place, ~place)[used]
    counts = np.bincount(columns[used], minlength=spare)
    return Listed(
        prices=(scale // 2 - fixed_targets(clauses, records, scale)).astype(dtype),
        scale=scale,
        term_start=clauses.starts,
        weights=clauses.weights / scale,
        literals=literals,
        accepted=accepted,
        column_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        entries=entries[np.argsort(columns[used], kind="stable")],
    )


def clause_literals(
    problem: FitProblem, clauses: ClauseTerms, width: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return literals (m, width) as columns, complemented for "!=", and accepted numbers of true literals (m,).

    Padding, and literals on codes that no record may have, name a spare column after all others.
    """
    offsets, allowed = problem.offsets(), problem.allowed_columns()
    spare = int(offsets[-1])
    literals = np.full((len(clauses), width), spare, dtype=np.int32)
    accepted = np.empty(len(clauses), dtype=np.uint32)
    parts = zip(clauses.terms, clauses.rows, clauses.starts.tolist(), strict=False)
    for term, rows, first in parts:  # a loop over terms
        one = clauses_of(term)
        attributes, values, signs = (array[rows, :width] for array in (one.attributes, one.values, one.signs))
        used = attributes >= 0
        columns = np.where(used, offsets[attributes] + values, 0)
        columns = np.where(used & allowed[columns], columns, spare)
        part = slice(first, first + rows.size)
        literals[part, : attributes.shape[1]] = np.where(signs | ~used, columns, ~columns)
        accepted[part] = one.accepted[rows]
    return literals, accepted


def clause_error(residuals: NDArray[np.int64], scale: int, clauses: ClauseTerms, records: int) -> float:
    """Return 1/2 sum_g weight_g ||A_g p - values_g||^2 over clauses, given SCALE * (count - target) (m,)."""
    counts = (residuals + fixed_targets(clauses, records, scale)) // scale
    squares = np.concatenate(([0.0], np.cumsum((counts / records - clauses.values()) ** 2)))
    totals = squares[clauses.starts[1:]] - squares[clauses.starts[:-1]]
    return 0.5 * float(totals @ clauses.weights)


def fixed_targets(clauses: ClauseTerms, records: int, scale: int) -> NDArray[np.int64]:
    """Return how often clauses should be true, in whole multiples of 1 / scale of a record."""
    return np.floor(clauses.values() * float(records * scale) + 0.5).astype(np.int64)


def new_truth(listed: Listed | None) -> Truth | None:
    """Return arrays for the true clauses of a record; `look` fills them in."""
    if listed is None:
        return None
    from dpopt.inference.records.clause_kernels import Truth

    columns = listed.column_start.size
    return Truth(
        taken=np.zeros(columns, dtype=np.uint8),
        true_literals=np.zeros(listed.accepted.size, dtype=np.int8),
        at_home=np.zeros(listed.accepted.size, dtype=np.uint8),
        costs=np.zeros(columns, dtype=np.float64),
    )


WIDTH = 3
COLUMNS_UP_TO = 2048
"""Flat columns; the sums over pairs of columns take 16 bytes for each pair."""


PAIR, SEEN, LISTED = 28.0, 92.0, 7.7
"""Nanoseconds of a record's turn in a sweep, measured on 500 columns with 2,000 to 100,000 clauses: for each pair of
attributes; for each two columns of the record that a clause names; and for each literal where clauses are lists instead."""


def are_worthwhile(problem: FitProblem) -> bool:
    """Return whether there is room for sums over pairs of columns, and they cost less than lists of clauses.

    A record has two columns of few clauses where attributes have many codes, and of three in four where they have two.
    """
    if int(problem.sizes.sum()) > COLUMNS_UP_TO:
        return False
    chance = np.append(1.0 / problem.sizes, 0.0)  # the last one for padding
    seen = literals = 0.0
    for term in problem.terms:
        if isinstance(term.queries, Clauses):
            narrow = term.queries.attributes[term.queries.widths() <= WIDTH]
            each = chance[narrow]
            seen += float((each.sum(axis=1) ** 2 - (each**2).sum(axis=1)).sum()) / 2
            literals += float(np.count_nonzero(narrow >= 0))
    return PAIR * problem.sizes.size**2 + SEEN * seen < LISTED * literals


def lay_out_monomials(problem: FitProblem, clauses: ClauseTerms, records: int) -> Monomials:
    """Return clauses of up to three literals without records; arguments as for `lay_out_clauses`.

    Without clauses there are no columns: sums over their pairs would take room for nothing.
    """
    from dpopt.inference.records.clause_kernels import Monomials

    scale, dtype = scale_of(largest_value(clauses.terms), records)
    m, spare = len(clauses), int(problem.offsets()[-1]) if len(clauses) else 0
    literals, accepted = clause_literals(problem, clauses, WIDTH)
    columns = np.where(literals < 0, ~literals, literals)
    # A literal on the spare column is false ("=") or true ("!=") of every record: its sign belongs to the kind.
    negative = literals < 0
    code = (accepted.astype(np.int64) << WIDTH) | (negative << np.arange(WIDTH)).sum(axis=1)
    kinds, kind = np.unique(code, return_inverse=True)
    tables = _truth_tables(kinds)
    coefficients, flips = _polynomials(tables)
    weights = np.repeat(clauses.weights, np.diff(clauses.starts)) / scale
    used = columns != spare
    place = 4 * np.arange(m, dtype=np.int64)[:, None] + np.arange(WIDTH)
    order = np.argsort(columns[used], kind="stable")
    single, pair = np.zeros((spare + 1, 2)), np.zeros((spare + 1, spare + 1, 2))
    for i in range(WIDTH):
        np.add.at(single[:, 1], columns[:, i], weights * flips[kind, i, 0])
        for k in range(WIDTH):
            if k != i:
                np.add.at(pair[:, :, 1], (columns[:, k], columns[:, i]), weights * flips[kind, i, 1 << k])
    thirds, owners, turns, pair_start = _pairs(columns, used.all(axis=1), spare)
    pulls, places = np.zeros((owners.size, 2)), np.full((m, WIDTH), -1, dtype=np.int32)
    pulls[:, 1] = weights[owners] * flips[kind[owners], turns, 7 ^ (1 << turns)]
    places[owners, turns] = np.arange(owners.size)
    entries = place[used][order]
    return Monomials(
        residuals=(-fixed_targets(clauses, records, scale)).astype(dtype),
        scale=scale,
        weights=weights,
        coefficients=coefficients,
        columns=columns.astype(np.int32),
        kinds=kind.astype(np.int32).reshape(-1),
        truths=(tables.astype(np.int64) << np.arange(8)).sum(axis=1),
        column_start=_starts(np.bincount(columns[used], minlength=spare)),
        entries=entries,
        partners=_partners(columns, entries),
        patterns=_patterns(tables, kind.reshape(-1), entries),
        pair_start=pair_start,
        thirds=thirds.astype(np.int16),
        pulls=pulls,
        places=places,
        single=single.reshape(-1),
        pair=pair.reshape(spare + 1, -1),
    )


def _partners(columns: NDArray[np.int32], entries: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return the other two columns of the clause of each entry, (e, 2)."""
    clause, place = entries >> 2, entries & 3
    others = [columns[clause, (place + step) % WIDTH] for step in (1, 2)]
    return np.stack(others, axis=1).astype(np.int16)


def _patterns(tables: NDArray[np.bool_], kind: NDArray[np.int64], entries: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return for each entry, as bits, which of its two partners' four patterns make the truth depend on its own literal."""
    kinds, place = kind[entries >> 2], entries & 3
    result = np.zeros(entries.size, dtype=np.uint8)
    for pattern in range(4):
        others = (pattern & 1) << (place + 1) % WIDTH | (pattern >> 1) << (place + 2) % WIDTH
        depends = tables[kinds, others] != tables[kinds, others | 1 << place]
        result |= (depends << pattern).astype(np.uint8)
    return result


def _truth_tables(kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (kinds, 8): whether a clause is true where these conditions "attribute = value" hold, as bits."""
    conditions = (np.arange(8)[:, None] >> np.arange(WIDTH)) & 1
    negative = (kinds[:, None] >> np.arange(WIDTH)) & 1
    number = (conditions[None, :, :] ^ negative[:, None, :]).sum(axis=2)
    return np.asarray(kinds[:, None] >> WIDTH >> number & 1, dtype=np.bool_)


def _polynomials(tables: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coefficients (kinds, 8) of the truth, and (kinds, 3, 8) of whether it depends on each condition."""
    coefficients = _moebius(tables.astype(np.float64))
    bits = np.arange(8)
    depends = np.stack([tables[:, bits | 1 << i] != tables[:, bits & ~(1 << i)] for i in range(WIDTH)], axis=1)
    return coefficients, _moebius(depends.astype(np.float64))


def _moebius(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of the polynomial with these values at the eight 0/1 points (last axis)."""
    result, bits = values.copy(), np.arange(8)
    for i in range(WIDTH):
        upper = bits[(bits >> i) & 1 == 1]
        result[..., upper] -= result[..., upper ^ (1 << i)]
    return result


def _pairs(
    columns: NDArray[np.int32], three: NDArray[np.bool_], spare: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each two columns of a clause of three literals its third column, the clause and the third's place."""
    clause = np.flatnonzero(three)
    keys, thirds, places = [], [], []
    for third in range(WIDTH):
        one, other = (columns[clause, i].astype(np.int64) for i in range(WIDTH) if i != third)
        keys.append(np.minimum(one, other) * spare + np.maximum(one, other))
        thirds.append(columns[clause, third])
        places.append(np.full(clause.size, third, dtype=np.int64))
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    owners = np.tile(clause, WIDTH)[order].astype(np.int32)
    starts = _starts(np.bincount(key, minlength=spare * spare))
    return np.concatenate(thirds)[order].astype(np.int32), owners, np.concatenate(places)[order], starts


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)))


def new_sight(monomials: Monomials | None) -> Sight | None:
    """Return arrays for the clauses' contributions for a record; `see` fills them in."""
    if monomials is None:
        return None
    from dpopt.inference.records.clause_kernels import Sight

    size, m = monomials.pair.shape[0], monomials.residuals.size
    return Sight(
        taken=np.zeros(size, dtype=np.uint8),
        slope=np.zeros(2 * size),
        changes=np.zeros(m, dtype=np.int8),
        trail=np.zeros(m, dtype=np.int32),
        length=np.zeros(1, dtype=np.int64),
    )
