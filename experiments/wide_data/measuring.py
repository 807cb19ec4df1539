"""One row measured: in memory, where errors alone are asked for, or as a whole process of the command line."""

from __future__ import annotations

import json
import os
import shutil
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.registry import plan_of, predict
from dpopt.algorithms.replay import load
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.stating import plan_statement
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.private.readers.table_reading import Layout, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.answers import uniform_answers
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.releases.progress import Progress
from dpopt.schema.schema import Schema
from experiments.runs import run_dpopt
from experiments.tables import load_codes
from experiments.wide_data.parts import DELTA, FIT_SECONDS, TRIVIAL, Row
from experiments.wide_files import WideTable, bits_file, netflix_file
from experiments.wide_tables import biased_bits

Result = dict[str, Any]


class Measured(NamedTuple):
    """A table in memory with a workload and its exact answers, (m,)."""

    dataset: PrivateDataset
    size: int
    workload: Workload
    exact: NDArray[np.float64]
    seconds: float


class Stages(Progress):
    """Keeps processor seconds by stage too: other processes on the machine hardly change them."""

    def __init__(self) -> None:
        super().__init__()
        self.processor_seconds: dict[str, float] = {}
        self._processor: dict[str, float] = {}

    def begin(self, stage: str) -> None:
        """Start the clocks of a stage."""
        super().begin(stage)
        self._processor[stage] = time.process_time()

    def end(self, stage: str) -> None:
        """Stop the clocks of a stage."""
        super().end(stage)
        self.processor_seconds[stage] = time.process_time() - self._processor[stage]


class Measuring:
    """Measures rows; what they share is kept as long as it is needed.

    Parameters
    ----------
    folder
        For tables that are made up: they stay there.
    quick
        Whether tables are tiny.
    """

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self._folder = folder
        self._quick = quick
        self._held: tuple[tuple[str, int | None, str], Measured] | None = None
        self._tables = cache(self._read)

    def result(self, row: Row) -> Result:
        """Return the figures of a row, and how busy the machine was when it began."""
        load = os.getloadavg()[0]
        if row.algorithm == TRIVIAL:
            return self._trivial(row)
        if row.algorithm == "noise":
            return self._noise(row)
        return {**(self._process(row) if row.figure == 4 else self._in_memory(row)), "load": load}

    def _trivial(self, row: Row) -> Result:
        """Return the errors of the data set without any one, in bits as in the paper, and of all records alike."""
        held = self._measured(row)
        schema, clauses = held.workload.schema, held.workload.clauses
        if schema.is_binary:
            zeros = held.workload.answers_on(np.zeros((1, len(schema)), dtype=np.int32))
        else:
            bits = np.full(schema.number_of_columns, 2, dtype=np.int32)
            zeros = shares_on_records(clauses.as_bits(schema), np.zeros((1, bits.size), dtype=np.int32), bits, None)
        return {
            "records": held.size,
            "counting_seconds": held.seconds,
            "zeros": _errors(zeros, held.exact),
            "uniform": _errors(uniform_answers(clauses, schema.sizes), held.exact),
        }

    def _noise(self, row: Row) -> Result:
        """Return the expected errors of Gaussian noise on every count, which follow from its scale; no table is needed."""
        schema, size = self._declared(row)
        workload = parse_workload(row.workload, schema)
        plan = plan_of(_settings(row.played(size)).request(size), workload)
        expected = predict(plan, workload)
        return {"max_error": expected.max_error, "mean_error": expected.mean_error}

    def _in_memory(self, row: Row) -> Result:
        held = self._measured(row)
        settings, told = _settings(row.played(held.size)), Stages()
        plan = plan_of(settings.request(held.size), held.workload)
        stated = plan_statement(plan, held.workload, predict_errors=False, accept_draft=False)
        output = {"format": "npz" if held.workload.schema.is_binary else "csv"}
        made = run_release(
            held.dataset, Job(plan, held.workload.schema, held.workload, output, stated), None, progress=told
        )
        return {
            **_played(made.statement),
            **_errors(made.answers(), held.exact),
            "seconds": dict(told.seconds),
            "processor_seconds": told.processor_seconds,
        }

    def _process(self, row: Row) -> Result:
        """Release with the command line, in memory and time as a user would."""
        table = self._bits(row)
        out, timings = self._folder / "release", self._folder / "timings.json"
        shutil.rmtree(out, ignore_errors=True)
        budget = ["--epsilon", f"{row.epsilon:g}", "--delta", f"{DELTA:g}"]
        fixed = {"--rounds": row.played(self._declared(row)[1]).rounds, "--draws": row.draws, "--step": row.step}
        played = [str(part) for pair in fixed.items() if pair[1] is not None for part in pair]
        if row.algorithm == "dualquery":
            played += ["--free-attributes", row.free]
        else:
            played += ["--fit-seconds", str(FIT_SECONDS)]
        process = run_dpopt(
            [
                *("release", str(table.path), *table.declared(), "--workload", row.workload),
                *("--out", str(out), "--algorithm", row.algorithm, *budget, *played),
                *("--neighbours", "replace", "--no-predict", "--quiet", "--timings", str(timings)),
            ]
        )
        finished = load(out)
        result = {
            **_played(finished.statement),
            **_errors(finished.answers(), self._measured(row).exact),
            "seconds": json.loads(timings.read_text(encoding="utf-8"))["seconds"],
            "process_seconds": process.seconds,
            "process_processor_seconds": process.processor_seconds,
            "peak_mb": process.peak_bytes / 1e6,
            "release_mb": sum(file.stat().st_size for file in out.iterdir()) / 1e6,
        }
        shutil.rmtree(out)
        return result

    def _declared(self, row: Row) -> tuple[Schema, int]:
        """Return schema and number of records of a row's table, without its records."""
        if row.columns is not None:
            return Schema.binary(row.columns), 300 if self._quick else 100_000
        schema, _, size = self._tables(row.table, None)
        return schema, size

    def _measured(self, row: Row) -> Measured:
        """Return the row's table with exact answers, counted once for rows with the same queries."""
        key = (row.table, row.columns, row.workload)
        if self._held is None or self._held[0] != key:
            self._held = None
            schema, dataset, size = self._tables(row.table, row.columns)
            workload = parse_workload(row.workload, schema)
            began = time.perf_counter()
            exact = exact_counts(dataset, workload.queries) / size
            self._held = key, Measured(dataset, size, workload, exact, time.perf_counter() - began)
        return self._held[1]

    def _bits(self, row: Row) -> WideTable:
        return bits_file(self._folder, row.columns or 0, quick=self._quick)

    def _read(self, name: str, columns: int | None) -> tuple[Schema, PrivateDataset, int]:
        if columns is not None:
            # Made again column by column where counting needs it: the file is for the command line.
            schema, rows = Schema.binary(columns), 300 if self._quick else 100_000
            return schema, PrivateDataset.from_binary(schema, biased_bits(rows, columns)), rows
        if name == "netflix-shaped":
            table = netflix_file(self._folder, quick=self._quick)
            schema = Schema.binary(table.columns)
            reading = TableReading(Layout.NPZ)
            return schema, read_binary_table(table.path, schema, reading), table.rows
        if self._quick:
            from dpopt.releases.public_population.population import public_population
            from experiments.tables import QUICK_ROWS, SCHEMAS

            schema = Schema.read(SCHEMAS / "kdd99.json")
            made = public_population(schema, QUICK_ROWS, seed=1)
            return schema, PrivateDataset.from_codes(schema, made), QUICK_ROWS
        schema, codes = load_codes(name)
        contiguous = [np.ascontiguousarray(column) for column in codes.T]
        return schema, PrivateDataset.from_codes(schema, contiguous), len(codes)


def _settings(row: Row) -> Terms:
    return Terms.of(
        algorithm=row.algorithm,
        epsilon=row.epsilon,
        delta=DELTA,
        accountant=row.accountant,
        neighbours="replace",
        rounds=row.rounds,
        draws=row.draws,
        step=row.step,
        free_attributes=row.free if row.algorithm == "dualquery" else None,
        predict=False,
    )


def _errors(answers: NDArray[np.float64], exact: NDArray[np.float64]) -> dict[str, float]:
    apart = np.abs(answers - exact)
    return {"max_error": float(apart.max()), "mean_error": float(apart.mean())}


def _played(statement: Any) -> Result:
    """Return plan and cost, as the release states them."""
    plan, privacy = statement["plan"], statement["privacy"]
    figures = {name: plan[name] for name in ("rounds", "draws", "step") if name in plan}
    costs = {
        name: cost for name, cost in privacy["epsilon_by_accountant"].items() if isinstance(cost, float)
    }  # in place of a cost there may be the reason why an accountant has none
    return {**figures, "epsilon_spent": privacy["epsilon"], "epsilon_by_accountant": costs}
