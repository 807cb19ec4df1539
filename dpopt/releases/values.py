"""Numbers within bins: measured in rounds with a share of the budget, and drawn from the results.

The first round halves the bins of each numeric column, and each later one the halves that hold many records beside the
noise. What a bin holds in all is taken from the synthetic records. So it is the same for every algorithm, after its
last step. A round that was torn on file is left out. Privacy: C19 in docs/privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from operator import call
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Number
from dpopt.errors import PlanError
from dpopt.files.codec import decode, encode
from dpopt.private.measurements.bin_measurement import ColumnSums
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.releases.column_values import ColumnBlocks
from dpopt.releases.declared_size import Total
from dpopt.releases.records import RowBlock, SyntheticRecords
from dpopt.schema.dates import cut_off
from dpopt.schema.finer import HALVINGS, dividable, finer, limits, orders
from dpopt.schema.schema import Attribute, Schema
from dpopt.threads import USUAL, map_in_threads
from dpopt.transcript.released import NoisyAnswers

VALUES_SHARE = 0.02
"""Share of the budget for numbers within bins: of rho under zCDP, of epsilon for pure budgets."""
_FALLS = 1.5
"""Factor between the budgets of a round and the next one: its halves are wider, and more depends on them."""
SHARE = Number(
    "--values-share, the share of the budget for numbers within bins (0: each bin stands for one number),",
    least=0,
    most=0.9,
)

Measure = Callable[[ColumnSums, Charge], NoisyAnswers | None]


@dataclass(frozen=True, slots=True)
class ValuesPlan:
    """The measurements of numbers within bins."""

    share: float
    """Of the budget."""
    columns: tuple[str, ...]
    """The numeric columns that have several numbers in some bin."""
    scales: tuple[float, ...]
    """sigma of discrete Gaussian or b of discrete Laplace noise, in records, round by round."""
    gaussian: bool
    """Which of the two."""

    @classmethod
    def of(
        cls, schema: Schema, budget: Budget, relation: NeighbouringRelation, share: float | None
    ) -> ValuesPlan | None:
        """Return the plan for a share of the budget; None where there is nothing to measure, or the share is 0.

        Without a share it is `VALUES_SHARE`, or 0 for an accountant under which it cannot be added.
        """
        if share is not None:
            SHARE(share, PlanError)
        added = budget.accountant in {Accountant.ZCDP, Accountant.PURE}
        if share and not added:
            raise PlanError(
                "--values-share adds to the charges of a plan under zcdp or pure, found --accountant "
                f"{budget.accountant.value}; leave it out"
            )
        part = (VALUES_SHARE if added else 0.0) if share is None else float(share)
        names = tuple(schema.attributes[place].name for place in dividable(schema)) if part else ()
        gaussian = budget.accountant is Accountant.ZCDP
        amount = part * budget.amount / (budget.group**2 if gaussian else budget.group)
        if not names or not amount > 0:
            return None
        weights = _FALLS ** -np.arange(HALVINGS, dtype=np.float64)
        amounts = (amount * weights / weights.sum()).tolist()
        moved = _sensitivity(len(names), relation)
        scales = tuple(measurement_scale(moved, amount=one, gaussian=gaussian) for one in amounts)
        return cls(part, names, scales, gaussian)

    @classmethod
    def from_json(cls, obj: object, schema: Schema) -> ValuesPlan:
        """Read a plan back."""
        found = decode(cls, obj, "the plan of numbers within bins", PlanError)
        if list(found.columns) != [schema.attributes[place].name for place in dividable(schema)]:
            raise PlanError("the columns whose numbers are measured are not those of the schema")
        found.charges(NeighbouringRelation.ADD_REMOVE)  # refuses scales that are none
        return found

    def charges(self, relation: NeighbouringRelation) -> list[Charge]:
        """Return the charge of each round. Privacy: C19 in docs/privacy."""
        moved = _sensitivity(len(self.columns), relation)
        return [
            measurement_charge(_name(number), moved, scale, gaussian=self.gaussian, relation=relation)
            for number, scale in enumerate(self.scales, start=1)
        ]

    def statement(self, torn: Sequence[str] = ()) -> dict[str, Any]:
        """Return a release's statement about it, and about the rounds that were torn on file."""
        noise = "Gaussian" if self.gaussian else "Laplace"
        rest = "the other rounds" if len(torn) < len(self.scales) else "how full neighbouring bins are"
        lost = {
            "lost_because": "the run was interrupted while it wrote these; they stay charged and are not drawn again, and the "
            f"numbers of these columns follow {rest} alone"
        }
        return {
            **encode(self),
            "mechanism": f"discrete {noise} noise on counts of halves of bins, in {len(self.scales)} rounds",
            "drawn": "within each bin, by a public random generator; whole where the column is whole",
            "lost_to_interruptions": list(torn),
            **(lost if torn else {}),
        }

    def attributes(self, schema: Schema) -> list[Attribute]:
        """Return the attributes whose numbers are measured."""
        return [schema.attributes[schema.names.index(name)] for name in self.columns]

    def finer(self, schema: Schema) -> list[Attribute]:
        """Return these attributes with the bins by which they are counted."""
        return [finer(attribute) for attribute in self.attributes(schema)]


Values = Mapping[str, ColumnBlocks]
"""For each measured column, the estimates of the numbers in its bins."""


def measured_values(
    plan: ValuesPlan,
    schema: Schema,
    records: SyntheticRecords,
    size: int,
    relation: NeighbouringRelation,
    measure: Measure,
) -> tuple[Values, list[Total]]:
    """Measure numbers within bins, round by round; return the estimates, and the first round's number of records.

    All that is asked depends on released values alone. `measure` returns the noisy counts of a measurement, paid for by
    a charge of the plan; None if they were lost. `size` is the public number of records.
    """
    held, shares = records.distinct, records.weights * size
    columns = []
    for attribute in plan.attributes(schema):
        codes = held[:, schema.names.index(attribute.name)]
        counts = np.bincount(codes, weights=shares, minlength=attribute.size).astype(np.float64)
        columns.append(ColumnBlocks.of(attribute, counts[: len(attribute.edges) - 1]))
    noise_variance, totals = 1.0 if plan.gaussian else 2.0, list[Total]()
    for number, (scale, charge) in enumerate(zip(plan.scales, plan.charges(relation), strict=True), start=1):
        halves = [column.halves(sqrt(noise_variance) * scale) for column in columns]
        measurement = _measurement(plan, number, columns, halves)
        noisy = None if measurement is None else measure(measurement, charge)
        if noisy is None:
            continue
        ends = np.cumsum([2 * chosen.size for chosen, _ in halves])[:-1]
        for place, part in enumerate(np.split(noisy.values.astype(np.float64), ends)):
            chosen, cells = halves[place]
            if number == 1 and chosen.size:
                totals.append(_total(columns[place], part, sqrt(noise_variance * part.size) * scale, plan))
            columns[place] = columns[place].halved(chosen, cells, part.reshape(-1, 2).T, noise_variance * scale**2)
    return dict(zip(plan.columns, columns, strict=True)), totals


def _total(column: ColumnBlocks, halves: NDArray[np.float64], deviation: float, plan: ValuesPlan) -> Total:
    """Return the total of the halves of a column's bins: all records, unless bins or missing values are left out."""
    every = halves.size == 2 * column.counts.size and column.attribute.size == column.counts.size
    return Total(float(halves.sum()), deviation, "about" if every else "at least", gaussian=plan.gaussian)


def drawn_blocks(values: Values, schema: Schema, records: SyntheticRecords, *, weighted: bool) -> Iterator[RowBlock]:
    """Yield the blocks of `SyntheticRecords.blocks` with numbers of measured columns, which obey the rules that order them."""
    number = len(records) if weighted else int(records.multiplicity.sum())
    places = {name: schema.names.index(name) for name in values}
    draws = {places[name]: column.drawing(places[name], number) for name, column in values.items()}
    for block in records.blocks(weighted=weighted):
        work = [partial(draw, block.codes[:, place], block.shares) for place, draw in draws.items()]
        numbers = dict(zip(draws, map_in_threads(call, work, USUAL), strict=True))
        yield replace(block, numbers=numbers, unordered=put_in_order(numbers, schema, block.codes))


def drawn_table(values: Values, schema: Schema, records: SyntheticRecords, *, weighted: bool) -> RowBlock:
    """Return all blocks of `drawn_blocks` as one."""
    blocks = list(drawn_blocks(values, schema, records, weighted=weighted))
    numbers = {place: np.concatenate([block.numbers[place] for block in blocks]) for place in blocks[0].numbers}
    codes = np.concatenate([block.codes for block in blocks])
    return RowBlock(codes, records.weights if weighted else None, numbers)


def put_in_order(numbers: dict[int, NDArray[np.float64]], schema: Schema, written: NDArray[np.int32]) -> int:
    """Exchange numbers within their bins, so that they obey the rules which order them; return where that was not possible.

    Two numbers of one bin that are not in order change places: both are as likely as before, given their order. In bins
    that overlap each goes as far towards the other's place as its bin reaches. A record that is still not in order has
    the representatives of its bins in these columns, for which the rules hold. `numbers`, (r,) by the position of a
    column and NaN where missing, are changed in place; `written` (r, d) are the codes of the same records.
    """
    found = orders(schema)
    ordered = sorted({place for one in found for place in (one.less, one.more)})
    least, most, middle, kept = {}, {}, {}, {}
    for place in ordered:
        attribute, codes = schema.attributes[place], written[:, place]
        stated = _as_written(attribute, np.array(attribute.representatives))
        low, high = (stated, stated) if place not in numbers else _reach(attribute)
        least[place], most[place], middle[place] = (np.append(one, np.nan)[codes] for one in (low, high, stated))
        kept[place] = _as_written(attribute, numbers.get(place, middle[place]))
    for _ in ordered[1:]:
        for one in found:
            first, second = kept[one.less], kept[one.more]
            rows = np.flatnonzero(first > second)
            before = first[rows]
            first[rows] = np.maximum(second[rows], least[one.less][rows])
            second[rows] = np.minimum(before, most[one.more][rows])
    broken = np.zeros(len(written), dtype=np.bool_)
    for one in found:
        broken |= one.broken(kept[one.less], kept[one.more])
    for place in set(ordered) & set(numbers):
        numbers[place] = np.where(broken, middle[place], kept[place])
    return int(broken.sum())


def _reach(attribute: Attribute) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest number of each bin that is written, (bins,)."""
    edges = limits(attribute)
    last = edges[1:] - 1 if attribute.integer else np.append(np.nextafter(edges[1:-1], edges[:-2]), edges[-1])
    return edges[:-1], _as_written(attribute, last)


def _as_written(attribute: Attribute, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers as files hold them: dates without the parts that their format drops."""
    if attribute.date_format is None:
        return numbers.copy()
    return cut_off(numbers, attribute.date_format)


def check_values(measurement: ColumnSums, values: NoisyAnswers) -> None:
    """Refuse, by TranscriptError, noisy counts on file that are not those of a measurement."""
    noise = DISCRETE_GAUSSIAN if measurement.gaussian else DISCRETE_LAPLACE
    values.check_planned(noise, measurement.scale, measurement.starts.size)


def _measurement(
    plan: ValuesPlan,
    number: int,
    columns: Sequence[ColumnBlocks],
    halves: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> ColumnSums | None:
    """Return both halves of the chosen blocks of all columns as intervals; None if no block is halved."""
    starts, stops, before = [], [], 0
    for column, (chosen, cells) in zip(columns, halves, strict=True):
        starts.append(np.stack((column.starts[chosen], cells), axis=1).reshape(-1) + before)
        stops.append(np.stack((cells, column.stops[chosen]), axis=1).reshape(-1) + before)
        before += column.limits.size - 1
    all_starts, all_stops = np.concatenate(starts), np.concatenate(stops)
    if not all_starts.size:
        return None
    scale, width = plan.scales[number - 1], len(columns)
    return ColumnSums(_name(number), scale, plan.gaussian, all_starts, all_stops, width)


def _name(number: int) -> str:
    return f"numbers within bins, round {number}"


def _sensitivity(columns: int, relation: NeighbouringRelation) -> int:
    return columns if relation is NeighbouringRelation.ADD_REMOVE else 2 * columns
