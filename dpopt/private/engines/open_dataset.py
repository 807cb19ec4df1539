"""Which engine counts on a table: memory, streams of batches, or the workers of a Dask cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpopt.errors import PlanError
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.tables.dataset import PrivateDataset, Progress
from dpopt.schema.schema import Schema

MEMORY, STREAM, DASK = "memory", "stream", "dask"
MOST_WORKERS = 256

_ADDRESS = re.compile(r"(?:(tcp|tls)://)?([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Engine:
    """Where records are while they are counted. Nothing of it enters a release: counts are the same with every engine.

    For "dask" `workers` processes are started, or `address` is that of the scheduler of a cluster that runs already,
    with its scheme ("tls://", or "tcp://" where that was written out).
    """

    name: str
    workers: int = 0
    address: str = ""


def parse_engine(text: str) -> Engine:
    """Return the engine that a text names: "memory", "stream", "dask:4", "dask:host:8786" (by TLS) or "dask:tcp://host:8786"."""
    name, colon, rest = text.strip().partition(":")
    if name in {MEMORY, STREAM} and not colon:
        return Engine(name)
    if name == DASK and re.fullmatch(r"[0-9]{1,6}", rest):
        if not 1 <= int(rest) <= MOST_WORKERS:
            raise PlanError(f"engine {text!r}: start 1 to {MOST_WORKERS} worker processes, such as dask:4")
        return Engine(DASK, workers=int(rest))
    found = _ADDRESS.fullmatch(rest) if name == DASK else None
    if found is not None:
        return Engine(DASK, address=f"{found[1] or 'tls'}://{found[2]}:{found[3]}")
    raise PlanError(
        f"engine {text!r} is not known; expected memory, stream, dask:N (N worker processes on this machine), or "
        "dask:ADDRESS (the scheduler of a cluster, such as dask:host:8786, by TLS)"
    )


def check_engine(text: str, schema: Schema) -> Engine:
    """Return the engine that a text names, if it can count on tables of this schema."""
    engine = parse_engine(text)
    if schema.is_binary and engine.name != MEMORY:
        raise PlanError(
            f"engine {text!r}: a wide table of zeros and ones is held as lists of its ones, or as bits; use --engine "
            f"memory (a file of bits is read from the disk where it is needed)"
        )
    return engine


def open_dataset(
    table: AnyTable,
    schema: Schema,
    reading: TableReading | None = None,
    *,
    engine: str = MEMORY,
    progress: Progress | None = None,
) -> PrivateDataset:
    """Validate a table by a public schema, and return an object that counts on it. Parameters as for `read_table`.

    The engine "memory" reads the table once and holds it, as `read_table` does; "stream" reads it again for every count;
    with "dask:N" or "dask:ADDRESS" workers read their parts of it for every count.
    """
    chosen = check_engine(engine, schema)
    if chosen.name == MEMORY:
        return read_table(table, schema, reading, progress=progress)
    if chosen.name == STREAM:
        from dpopt.private.engines.streamed_table import StreamedTable

        return StreamedTable.open(table, schema, reading, progress=progress)
    from dpopt.private.engines.dask_workers import DaskWorkers
    from dpopt.private.engines.distributed_table import DistributedTable

    def workers() -> DaskWorkers:
        return DaskWorkers.connect(chosen.address) if chosen.address else DaskWorkers.start(chosen.workers)

    return DistributedTable.open(table, schema, workers, reading, progress=progress)
