"""How much memory a run will take, from public numbers alone, and a refusal where the machine has less.

Runs of DualQuery, and projections onto clauses, are foreseen.

The table itself is not in the sum: how it is held depends on what is in it, and once it has been read it is no longer
part of what the machine has available.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt import machine
from dpopt.errors import PlanError
from dpopt.private.readers.batch_reader import BATCH_BYTES
from dpopt.private.readers.table_sources import BATCH_ROWS
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import are_kept_as_bits, octets_for
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload

GROUP = Path("/sys/fs/cgroup")

STEP = 1 << 18  # clauses looked at together: bounds the temporary arrays
PROGRAM = 100  # bytes for each literal of a draw while its problem is made smaller and searched
DRAW = 80  # bytes for each query that a round draws: random words, order, queries and net counts, text
ATTRIBUTE = 64  # bytes for each attribute while a record is found, filled and checked
NUMBER = 40  # bytes of a whole number in a list of Python's
FITTED = 100  # bytes for each literal of a clause that records are fitted to: residuals, positions by column, weights
COPIES = 5  # arrays of the records of one snapshot while they are moved, counted and compared
SHOWN = 10_000_000
MUCH = 1_000_000_000  # bytes from which on a run says beforehand what it will hold
LIBRARIES = 200_000_000  # NumPy, Numba and the compiled loops


@dataclass(frozen=True, slots=True)
class ExpectedMemory:
    """The memory of a run, item by item."""

    items: tuple[tuple[str, int], ...]
    """What is held, in words, and its bytes; added up as if all were held at the same time."""

    @property
    def total(self) -> int:
        """The sum of all items, in bytes."""
        return sum(size for _, size in self.items)

    def describe(self) -> str:
        """Return total and items in words, the largest first, without those below 10 MB."""
        shown = [item for item in self.items if item[1] >= SHOWN]
        ordered = sorted(shown, key=lambda item: -item[1])
        return f"{_gigabytes(self.total)}: " + ", ".join(f"{what} {_gigabytes(size)}" for what, size in ordered)


def memory_of_fit(
    workload: Workload, *, size: int, records: int, snapshots: int, streamed: bool
) -> ExpectedMemory | None:
    """Return the memory of a fit of records to clauses, None where marginals are fitted.

    Calibrated on 100,000 and 500,000 clauses of three literals over 16,980 columns, 100 to 1,000 records.
    """
    if workload.marginals is not None:
        return None
    from dpopt.queries.counting.counting import MOST_BYTES  # imports numba

    counted = min(size, BATCH_ROWS) if streamed else size
    clauses, d = workload.clauses, len(workload.schema)
    m, width = len(clauses), clauses.attributes.shape[1]
    columns = number_of_named_columns(clauses, workload.schema.sizes) * (counted // 8 + 64)
    if workload.schema.is_binary:
        columns = min(columns, MOST_BYTES)
    record = 4 * d * records
    return ExpectedMemory(
        (
            ("libraries", LIBRARIES),
            ("columns that queries name, as bits", columns),
            ("queries", m * (9 * width + 4)),
            ("queries as records are fitted to them", m * width * FITTED),
            ("fitted records while they are moved", COPIES * record),
            ("fitted records of all snapshots", snapshots * record),
        )
    )


def expected_memory(
    queries: Clauses | MarginalSet,
    sizes: NDArray[np.integer],
    *,
    rows: int,
    rounds: int,
    draws: int,
    rows_at_once: int | None = None,
    binary: bool = False,
    resumed: bool = False,
) -> ExpectedMemory:
    """Return the memory of a run of DualQuery, the table aside.

    Cells of marginals are written out as clauses. `rows` is the public size, of which `rows_at_once` are counted
    together where the table is streamed. A table of zeros and ones (`binary`) has its columns counted some at a time if
    they are very many; a `resumed` run reads the transcript of the earlier one, too.
    """
    from dpopt.queries.counting.counting import MOST_BYTES  # imports numba

    m = queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)
    width = queries.attributes.shape[1]
    d, drawn = len(sizes), min(draws, m)
    counted = rows if rows_at_once is None else min(rows, rows_at_once)
    record = octets_for(d) if are_kept_as_bits(sizes) else 4 * d
    columns = number_of_named_columns(queries, sizes) * (counted // 8 + 64)
    items = [
        ("libraries", LIBRARIES),
        *([] if rows_at_once is None else [("batches of the table", 2 * BATCH_BYTES)]),
        ("columns that queries name, as bits", min(columns, MOST_BYTES) if binary else columns),
        ("queries", m * (9 * width + 4)),
        ("queries while they are counted", m * (9 * width + 4)),
        ("counts, scores and answers of the queries", m * (8 + 8 + 8 + 8 + 1)),
        ("one round's draw and problem", draws * DRAW + drawn * width * PROGRAM),
        ("one round's record", d * ATTRIBUTE),
        ("draws of all rounds", rounds * drawn * 16),
        ("records of all rounds", rounds * record),
    ]
    if resumed:
        items.append(("transcript", rounds * (drawn * 2 * NUMBER + (2 * record if record < d else d * NUMBER))))
    return ExpectedMemory(tuple(items))


def number_of_named_columns(queries: Clauses | MarginalSet, sizes: NDArray[np.integer]) -> int:
    """Return how many pairs of an attribute and a code occur in queries; one for each attribute of two codes."""
    if isinstance(queries, MarginalSet):
        attributes = np.unique(queries.attributes[queries.attributes >= 0])
        codes = queries.domains.counts[attributes]
        return int(np.where(np.asarray(sizes)[attributes] == 2, 1, codes).sum())
    clauses = queries
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    named = np.zeros(int(offsets[-1]), dtype=np.bool_)
    for begin in range(0, len(clauses), STEP):
        attributes, values = clauses.attributes[begin : begin + STEP], clauses.values[begin : begin + STEP]
        used = attributes >= 0
        literals = attributes[used]
        named[offsets[literals] + np.where(np.asarray(sizes)[literals] == 2, 0, values[used])] = True
    return int(np.count_nonzero(named))


def available_memory() -> int:
    """Return the bytes that this process can still get.

    The least of what the machine has, what the process may hold (`ulimit -v`), and what its control group may
    (containers, batch systems).
    """
    limits = (machine.free_memory(), machine.memory_limit(), _of_the_group())
    return min(size for size in limits if size is not None)


def _of_the_group() -> int | None:
    try:
        allowed = (GROUP / "memory.max").read_text("ascii").strip()
        used = int((GROUP / "memory.current").read_text("ascii"))
        files = re.search(r"^inactive_file (\d+)$", (GROUP / "memory.stat").read_text("ascii"), re.MULTILINE)
    except (OSError, ValueError):
        return None
    given_back = 0 if files is None else int(files[1])  # pages of files, which are dropped where memory is needed
    return max(0, int(allowed) - used + given_back) if allowed.isdigit() else None


def check_memory(expected: ExpectedMemory, available: int) -> None:
    """Refuse a run that would need more memory than there is."""
    if expected.total > available:
        raise PlanError(
            f"the run needs about {expected.describe()}; the machine has {_gigabytes(available)} available. Ask fewer "
            f"queries, draw fewer in each round (--draws), count the table in parts (--engine stream, no wide tables), "
            f"or use a machine with more memory"
        )


def note_on_memory(expected: ExpectedMemory, available: int | None = None) -> str | None:
    """Return the remark on a run that takes much memory, None where it does not.

    With `available` bytes this is a run that goes on. It is not refused where they are too few: what was spent would be
    lost to whoever has no larger machine.
    """
    found = f"memory: about {expected.describe()}"
    if available is not None and expected.total > available:
        return (
            f"{found}; the machine has {_gigabytes(available)} available. Should the run be ended for want of it, "
            f"nothing is lost and nothing is spent twice: resume it on a machine with more memory, or with --engine "
            f"stream if the table is no wide one"
        )
    return found if expected.total > MUCH else None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
