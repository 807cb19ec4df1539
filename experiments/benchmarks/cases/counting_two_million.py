"""Counting 2,000,000 three-way conjunctions, beside NumPy, a columnar engine, and what the machine can do at most."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.compiled import population_count
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from experiments.benchmarks.cases.counting import made_up
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread
from experiments.tables import load_codes
from experiments.wide_tables import netflix_shaped

THREADS = 2
NEAR = 512  # words of a column in the limits: three of them fit into the first-level cache
FAR = 1 << 26  # words that are read from memory: 512 MB
DUCKDB = "DPOPT_DUCKDB"  # an interpreter that has duckdb
Columns = Sequence[NDArray[np.integer]]


@case(
    "How fast are 2,000,000 three-way queries counted on KDD99 and on 17,770 columns, beside what the machine can do?"
)
def counting_two_million(setting: Setting) -> Result:
    """Measure whole counts, packing and all, on 2 threads; the counts must agree with those of the alternatives on a sample.

    A *word* is 64 records of one query: 2,000,000 queries on 494,021 records are 15.4 billion words. The words counted in a
    second are set against three limits, measured in the same run, on as many threads and with the same compiler:

    - *counted*: words of one column in the first-level cache whose bits are counted, and nothing else. A limit to every way
      that counts each query by itself: it has to count the bits of one word for each 64 records.
    - *three columns*: words of three columns in the first-level cache, ANDed and counted. The limit of a loop over three
      columns all of whose words happen to be near.
    - *memory*: words of three columns as they come from memory, from the bytes that the threads can read and count. The limit
      of every way that counts each query by itself on columns that do not fit into the caches.

    Counting passes a limit only by leaving out work: pairs of columns that many queries share are ANDed once, and stretches
    without a one, or lists of few records, need no pass over all words. The limits for bars are "counted" for KDD99, whose
    columns (24 MB of bits) fit into a third-level cache, and "memory" for the other table (1.07 GB of bits); the other
    shares stand beside them.

    NumPy ANDs packed words and counts their bits in one thread, with all columns packed beforehand. The columnar engine
    filters columns of codes in memory: DuckDB (2 threads) by the interpreter that DPOPT_DUCKDB names, otherwise
    pyarrow.compute.
    """
    from dpopt.queries.counting.counting import count_on_columns

    queries, sample, filtered = setting.pick((2_000_000, 500, 40), (300, 20, 5))
    rows, bars = [], []
    for name, load in (("KDD99", _kdd99), ("Netflix-shaped", _netflix_shaped)):
        schema, columns, records = load(setting)
        sizes = schema.sizes
        clauses = parse_workload(f"conjunctions:3,count={queries},seed=7", schema).clauses
        part = clauses.take(np.arange(sample))
        count_on_columns(columns, sizes, part, threads=THREADS)  # compiles; not counted
        limits = _limits(setting)
        seconds, processor_seconds, counts = [], [], np.zeros(0, dtype=np.int64)
        for _ in range(setting.runs):
            started, before = time.perf_counter(), time.process_time()
            counts = count_on_columns(columns, sizes, clauses, threads=THREADS)
            seconds.append(time.perf_counter() - started)
            processor_seconds.append(time.process_time() - before)
        words = queries * -(-records // 64) / float(np.median(seconds))
        numpy_seconds, found = _with_numpy(columns, records, part)
        engine, engine_seconds, filtered_found = _with_engine(
            columns, part.take(np.arange(filtered)), setting.folder / f"{name}.parquet"
        )
        if not np.array_equal(found, counts[:sample]) or filtered_found != counts[:filtered].tolist():
            raise RuntimeError(f"{name}: the counts differ from those of NumPy or {engine}")
        rate = queries / float(np.median(seconds))
        beside_numpy = rate * numpy_seconds / sample
        beside_engine = rate * engine_seconds / filtered
        row: dict[str, Any] = {
            "table": name,
            "records": records,
            "columns": len(columns) if name != "KDD99" else int(sizes.sum()),
            "queries": queries,
            "seconds": spread(seconds),
            "processor seconds": spread(processor_seconds),
            "queries per second": rate,
            "times faster than np.bitwise_count": beside_numpy,
            "columnar engine": engine,
            "times faster than the engine": beside_engine,
            "words per second": words,
        }
        for limit, most in limits.items():
            row[f"{limit}, words per second at most"] = most
            row[f"share of {limit}"] = words / most
        rows.append(row)
        limit = "counted" if name == "KDD99" else "memory"
        bars += [
            Bar(f"{name}: times faster than np.bitwise_count", beside_numpy, 8, at_least=True),
            Bar(f"{name}: times faster than {engine}", beside_engine, 20, at_least=True),
            Bar(f"{name}: share of the limit '{limit}'", words / limits[limit], 0.7, at_least=True),
        ]
    return Result(rows, bars)


def _kdd99(setting: Setting) -> tuple[Schema, Columns, int]:
    schema, codes = made_up() if setting.quick else load_codes("kdd99-coded")
    return schema, [np.ascontiguousarray(column) for column in codes.T], len(codes)


def _netflix_shaped(setting: Setting) -> tuple[Schema, Columns, int]:
    rows, columns = setting.pick((480_189, 17_770), (1_000, 300))
    return Schema.binary(columns), netflix_shaped(rows, columns), rows


def _with_numpy(columns: Columns, records: int, clauses: Clauses) -> tuple[float, NDArray[np.int64]]:
    """AND 64-bit words of three columns, then np.bitwise_count; packing is not timed."""
    everyone = _packed(np.ones(records, dtype=np.bool_))
    used = set(zip(clauses.attributes.ravel().tolist(), clauses.values.ravel().tolist(), strict=True))
    words = {(attribute, value): _packed(columns[attribute] == value) for attribute, value in used}
    triples = zip(clauses.attributes.tolist(), clauses.values.tolist(), clauses.signs.tolist(), strict=True)
    started = time.perf_counter()
    counts = []
    for attributes, values, signs in triples:
        found = everyone
        for attribute, value, sign in zip(attributes, values, signs, strict=True):
            column = words[attribute, value]
            found = found & (column if sign else ~column)
        counts.append(int(np.bitwise_count(found).sum(dtype=np.int64)))
    return time.perf_counter() - started, np.array(counts)


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    return np.packbits(np.concatenate((bits, np.zeros(-len(bits) % 64, dtype=np.bool_)))).view(np.uint64)


def _with_engine(columns: Columns, clauses: Clauses, file: Path) -> tuple[str, float, list[int]]:
    """Filter columns of codes with DuckDB or, where there is none, with pyarrow.compute; reading the table is not timed."""
    import pyarrow as pa
    from pyarrow import parquet

    used = np.unique(clauses.attributes).tolist()
    table = pa.table({f"c{attribute}": np.asarray(columns[attribute]) for attribute in used})
    literals = [
        list(zip(attributes, values, signs, strict=True))
        for attributes, values, signs in zip(
            clauses.attributes.tolist(), clauses.values.tolist(), clauses.signs.tolist(), strict=True
        )
    ]
    interpreter = os.environ.get(DUCKDB)
    if interpreter is None:
        return "pyarrow.compute", *_with_pyarrow(table, literals)
    parquet.write_table(table, file)
    asked = file.with_suffix(".json")
    asked.write_text(json.dumps(literals), encoding="utf-8")
    script = Path(__file__).resolve().parent.parent / "run_duckdb.py"
    done = subprocess.run(  # noqa: S603  # what the caller names
        [interpreter, str(script), str(file), str(asked)], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    return f"DuckDB {result['version']}", result["seconds"], result["counts"]


def _with_pyarrow(table: Any, queries: list[list[tuple[int, int, bool]]]) -> tuple[float, list[int]]:
    from pyarrow import compute

    started = time.perf_counter()
    counts = []
    for query in queries:
        kept = None
        for column, code, equal in query:
            holds = (compute.equal if equal else compute.not_equal)(table[f"c{column}"], code)
            kept = holds if kept is None else compute.and_(kept, holds)
        counts.append(int(compute.sum(kept).as_py() or 0))
    return time.perf_counter() - started, counts


def _limits(setting: Setting) -> dict[str, float]:
    """Return words per second on as many threads, the best of three measurements of each limit."""
    near = setting.pick(400_000, 100)
    far = setting.pick(FAR, 1 << 12)
    generator = np.random.default_rng(1)
    words = [generator.integers(0, 1 << 63, size=3 * NEAR, dtype=np.uint64) for _ in range(THREADS)]
    memory = [generator.integers(0, 1 << 63, size=1 << 12, dtype=np.uint64) for _ in range(THREADS)]
    memory = [np.tile(block, far // THREADS // block.size or 1) for block in memory]
    return {
        "counted": _best(lambda thread: _count_one(words[thread][:NEAR], near), THREADS * near * NEAR),
        "three columns": _best(lambda thread: _count_three(words[thread], near), THREADS * near * NEAR),
        "memory": _best(lambda thread: _count_one(memory[thread], 1), sum(map(len, memory))) / 3,
    }


def _best(work: Callable[[int], object], words: int) -> float:
    seconds = []
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(4):  # the first one compiles
            started = time.perf_counter()
            list(pool.map(work, range(THREADS)))
            seconds.append(time.perf_counter() - started)
    return words / min(seconds[1:])


@kernel
def _count_one(words: NDArray[np.uint64], times: int) -> np.uint64:
    """Count the bits of a run of words so many times; the sum is kept so that no pass is left out."""
    kept, n = np.uint64(0), np.uint64(words.size)
    for turn in range(times):
        total = np.uint64(0)
        for word in range(n):
            total += population_count(words[word])
        kept += total ^ np.uint64(turn)
    return kept


@kernel
def _count_three(words: NDArray[np.uint64], times: int) -> np.uint64:
    """Count the bits of the AND of three runs of NEAR words so many times."""
    kept, n = np.uint64(0), np.uint64(NEAR)
    for turn in range(times):
        total = np.uint64(0)
        for word in range(n):
            total += population_count(words[word] & words[n + word] & words[n + n + word])
        kept += total ^ np.uint64(turn)
    return kept
