"""Exact counting of three-way conjunctions, beside bit counts with NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.clauses import Clauses
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from dpopt.threads import Progress
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread
from experiments.tables import SCHEMAS, load_codes

Codes = NDArray[np.uint8]


@case("How many three-way queries are counted in a second at 494,021 records, and how many with NumPy?")
def counting(setting: Setting) -> Result:
    """Measure packing and counting on 2 threads, and NumPy on a part of the queries; the counts must agree."""
    from dpopt.queries.counting.bitmaps import Bitmaps, count_on_bitmaps
    from dpopt.queries.counting.counting import column_positions

    schema, codes = made_up() if setting.quick else load_codes("kdd99-coded")
    queries, sample = setting.pick((500_000, 2_000), (300, 20))
    clauses = parse_workload(f"conjunctions:3,count={queries},seed=7", schema).clauses
    columns = [np.ascontiguousarray(column) for column in codes.T]

    def pack_and_count() -> tuple[float, float, NDArray[np.int64]]:
        started = time.perf_counter()
        positions, _ = column_positions(schema.offsets, clauses)
        bitmaps = Bitmaps.of_codes(columns, schema.sizes, positions)
        between = time.perf_counter()
        silent = Progress(None)
        counts = count_on_bitmaps(bitmaps, clauses, schema.offsets, positions, threads=2, progress=silent)
        return between - started, time.perf_counter() - between, counts

    pack_and_count()
    measured = [pack_and_count() for _ in range(setting.runs)]
    rates = spread(queries / seconds for _, seconds, _ in measured)
    row: dict[str, object] = {
        "records": len(codes),
        "queries": queries,
        "queries per second": rates,
        "packing, seconds": spread(packing for packing, _, _ in measured),
    }
    part = clauses.take(np.arange(sample))
    for name, count in ALTERNATIVES.items():
        seconds, counts = count(codes, part)
        rate = float(f"{sample / seconds:.4g}")
        if not np.array_equal(counts, measured[0][2][:sample]):
            raise RuntimeError(f"the counts differ from those of {name}")
        row[f"{name}, queries per second"] = rate
        row[f"times faster than {name}"] = rates["median"] / rate
    return Result([row], [Bar("queries per second, median", rates["median"], 780_000, at_least=True)])


def _count_packed(codes: Codes, clauses: Clauses) -> tuple[float, list[int]]:
    """AND 64-bit words of the three columns, then np.bitwise_count; packing is not timed."""
    empty = np.zeros(-len(codes) % 64, dtype=np.bool_)

    def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
        return np.packbits(np.concatenate((bits, empty))).view(np.uint64)

    rows = packed(np.ones(len(codes), dtype=np.bool_))
    words = {key: packed(codes[:, key[0]] == key[1]) for key in _literals(clauses)}
    started = time.perf_counter()
    counts = []
    for attributes, values, signs in _triples(clauses):
        found = rows
        for attribute, value, sign in zip(attributes, values, signs, strict=True):
            column = words[attribute, value]
            found = found & (column if sign else ~column)
        counts.append(int(np.bitwise_count(found).sum(dtype=np.int64)))
    return time.perf_counter() - started, counts


def _count_unpacked(codes: Codes, clauses: Clauses) -> tuple[float, list[int]]:
    """AND one byte per record of the three columns, then np.count_nonzero."""
    truths = {key: codes[:, key[0]] == key[1] for key in _literals(clauses)}
    started = time.perf_counter()
    counts = []
    for attributes, values, signs in _triples(clauses):
        found = np.ones(len(codes), dtype=np.bool_)
        for attribute, value, sign in zip(attributes, values, signs, strict=True):
            column = truths[attribute, value]
            found &= column if sign else ~column
        counts.append(int(np.count_nonzero(found)))
    return time.perf_counter() - started, counts


def _literals(clauses: Clauses) -> set[tuple[int, int]]:
    return set(zip(clauses.attributes.ravel().tolist(), clauses.values.ravel().tolist(), strict=True))


def _triples(clauses: Clauses) -> Iterator[tuple[list[int], list[int], list[bool]]]:
    return zip(clauses.attributes.tolist(), clauses.values.tolist(), clauses.signs.tolist(), strict=True)


def made_up() -> tuple[Schema, Codes]:
    """Return a few made-up records over the attributes of KDD99."""
    from dpopt.releases.public_population.population import public_population

    schema = Schema.read(SCHEMAS / "kdd99.json")
    return schema, np.stack(public_population(schema, 400, seed=1), axis=1).astype(np.uint8)


ALTERNATIVES: dict[str, Callable[[Codes, Clauses], tuple[float, list[int]]]] = {
    "np.bitwise_count on packed words": _count_packed,
    "np.count_nonzero on bytes": _count_unpacked,
}
