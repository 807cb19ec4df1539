"""Count conjunctions with DuckDB; run by the interpreter of an environment that has it, on a Parquet file of codes.

`python run_duckdb.py TABLE.parquet QUERIES.json`: queries are lists of [column, code, equal]; prints counts and seconds
as JSON. The table is held in memory, loading it is not timed. Two ways, of which the faster one is reported: a
statement for each query, and one statement that filters for all of them in one pass.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Load, count both ways, print."""
    import duckdb  # type: ignore[import-not-found,unused-ignore]  # in its own environment

    table, queries = sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    connection: Any = duckdb.connect(config={"threads": 2})
    connection.execute("CREATE TABLE t AS SELECT * FROM read_parquet(?)", [table])
    texts = [
        " AND ".join(f"c{column} {'=' if equal else '<>'} {code}" for column, code, equal in query) for query in queries
    ]
    best: dict[str, Any] = {}
    for counts, seconds in (_one_by_one(connection, texts), _in_one_pass(connection, texts)):
        if not best or seconds < best["seconds"]:
            best = {"counts": counts, "seconds": seconds, "version": duckdb.__version__}
    print(json.dumps(best))


def _one_by_one(connection: Any, texts: list[str]) -> tuple[list[int], float]:
    started = time.perf_counter()
    counts = [
        connection.execute(f"SELECT count(*) FROM t WHERE {text}").fetchone()[0]  # noqa: S608  # our own numbers
        for text in texts
    ]
    return counts, time.perf_counter() - started


def _in_one_pass(connection: Any, texts: list[str]) -> tuple[list[int], float]:
    started = time.perf_counter()
    filters = ", ".join(f"count(*) FILTER (WHERE {text})" for text in texts)
    counts = list(connection.execute(f"SELECT {filters} FROM t").fetchone())  # noqa: S608  # our own numbers
    return counts, time.perf_counter() - started


if __name__ == "__main__":
    main()
