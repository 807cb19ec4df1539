"""Run the peers in their environments and measure their errors on the same work as ours.

Every run is a process of its own, and is written down as soon as it ends, so that an interrupted measurement goes on where it
stopped. ``run_peer`` and ``peer_errors`` serve other experiments too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers.summary import write_summary
from experiments.tables import ROOT, data_folder

DATA = "peers/adult-gem-13attr.npz"
ORDER = 3
LIMIT = 3600.0
SMALL = ("sex", "income>50K", "race", "marital-status", "occupation", "education", "age")
WORKS: dict[str, tuple[str, ...] | None] = {"small": SMALL, "adult13": None}
PEERS = {
    "opendp": ("mst", "mst-rounded", "aim"),
    "dpmm": ("mst", "aim"),
    "smartnoise": ("mst", "mst-rounded", "aim", "mwem", "mwem-groups"),
}
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")

Result = dict[str, Any]


class PeerFailedError(Exception):
    """A peer released nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class PeerTable:
    """A coded table: codes (n, d), how many values each column may have, and the names of the columns."""

    codes: NDArray[np.integer]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def delta(self) -> float:
        """1 / n^2, as the peers' own comparisons use it."""
        return 1.0 / len(self.codes) ** 2


@dataclass(frozen=True, slots=True)
class PeerRun:
    """What a peer released: records, their weights if they have some, seconds by the clock and of the processor, version."""

    records: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    seconds: float
    processor_seconds: float
    version: str


def load_table(work: str) -> PeerTable:
    """Return the table of a work: ``small`` (7 columns of Adult) or ``adult13`` (13 columns)."""
    with np.load(data_folder() / DATA, allow_pickle=False) as stored:
        names, sizes, codes = stored["names"].tolist(), stored["sizes"], stored["codes"]
    chosen = [names.index(name) for name in WORKS[work] or names]
    return PeerTable(
        np.ascontiguousarray(codes[:, chosen]),
        tuple(int(sizes[column]) for column in chosen),
        tuple(names[column] for column in chosen),
    )


def run_peer(
    environment: Path,
    peer: str,
    method: str,
    table: PeerTable,
    *,
    epsilon: float,
    delta: float | None = None,
    order: int = ORDER,
    limit: float = LIMIT,
) -> PeerRun:
    """Let a peer release a table, in its own environment and a process of its own.

    Parameters
    ----------
    environment : Path
        The virtual environment of the peer.
    peer, method : str
        One of `PEERS` and one of its methods.
    table : PeerTable
        The private table.
    epsilon : float
        The privacy of the run.
    delta : float, optional
        1 / n^2 where it is not given.
    order : int
        Columns of a marginal of the workload, where the method can be told.
    limit : float
        Seconds after which the run is ended.

    Raises
    ------
    PeerFailedError
        If it releases nothing, or not within the limit.
    """
    with tempfile.TemporaryDirectory(prefix="dpopt-peer-") as folder:
        data, output = Path(folder) / "table.npz", Path(folder) / "records.npz"
        np.savez(data, codes=table.codes, sizes=np.array(table.sizes), names=np.array(table.names))
        options = {"data": data, "method": method, "epsilon": epsilon, "order": order, "output": output}
        options["delta"] = table.delta if delta is None else delta
        # Made absolute but not resolved: python in an environment is a link that leads out of it.
        python = Path(os.path.abspath(environment)) / "bin" / "python"  # noqa: PTH100
        command = [str(python), "-m", f"experiments.peers.run_{peer}"]
        command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
        try:
            done = subprocess.run(  # noqa: S603  its arguments are written in this repository
                command,
                cwd=ROOT,
                env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "JAX_PLATFORMS": "cpu"},
                capture_output=True,
                text=True,
                check=False,
                timeout=limit,
            )
        except FileNotFoundError as error:
            raise PeerFailedError(f"no environment of {peer}") from error
        except subprocess.TimeoutExpired as error:
            raise PeerFailedError(f"not finished after {limit:g} seconds") from error
        if done.returncode != 0:
            raise PeerFailedError(_reason(done.stderr, done.returncode))
        with np.load(output, allow_pickle=False) as stored:
            weights = stored.get("weights")
            seconds, processor_seconds = float(stored["seconds"]), float(stored["processor_seconds"])
            return PeerRun(stored["codes"], weights, seconds, processor_seconds, str(stored["version"]))


def peer_errors(
    table: PeerTable, records: NDArray[np.integer], *, weights: NDArray[np.float64] | None = None, order: int = ORDER
) -> tuple[float, float]:
    """Return the largest and the mean difference of shares over all cells of all marginals of an order."""
    largest, total, cells = 0.0, 0.0, 0
    for columns in itertools.combinations(range(len(table.sizes)), order):
        differences = np.abs(
            _shares(records, weights, columns, table.sizes) - _shares(table.codes, None, columns, table.sizes)
        )
        largest = max(largest, float(differences.max()))
        total += float(differences.sum())
        cells += differences.size
    return largest, total / cells


def measure(
    environments: Path,
    work: str,
    peers: Iterable[tuple[str, str]],
    *,
    epsilons: Sequence[float],
    runs: int,
    known: Sequence[Result] = (),
    limit: float = LIMIT,
) -> Iterator[Result]:
    """Yield the result of each run that is not known yet.

    Methods take turns, run by run. One that fails once at an epsilon is not run again there.
    """
    table = load_table(work)
    done = list(known)
    for run, (peer, method), epsilon in itertools.product(range(runs), list(peers), epsilons):
        labels = {"peer": peer, "method": method, "work": work, "epsilon": epsilon}
        before = [result for result in done if labels.items() <= result.items()]
        if any(result["run"] == run or result["failed"] for result in before):
            continue
        result = {**labels, "delta": table.delta, "run": run, "version": None}
        result |= dict.fromkeys(("max_error", "mean_error", "seconds", "processor_seconds", "failed"))
        try:
            released = run_peer(environments / peer, peer, method, table, epsilon=epsilon, limit=limit)
        except PeerFailedError as failure:
            result["failed"] = str(failure)
        else:
            largest, mean = peer_errors(table, released.records, weights=released.weights)
            result |= {"version": released.version, "seconds": round(released.seconds, 2)}
            result |= {"processor_seconds": round(released.processor_seconds, 2)}
            result |= {"max_error": round(largest, 6), "mean_error": round(mean, 8)}
        done.append(result)
        yield result


def _shares(
    codes: NDArray[np.integer], weights: NDArray[np.float64] | None, columns: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Return the share of each cell of a marginal, flat."""
    shape = [sizes[column] for column in columns]
    flat = np.ravel_multi_index([codes[:, column].astype(np.int64) for column in columns], shape)
    counts = np.bincount(flat, weights=weights, minlength=int(np.prod(shape))).astype(np.float64)
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def _reason(said: str, code: int) -> str:
    """Return the last line with words that a process said, without paths of this machine."""
    lines = [line.strip() for line in said.splitlines() if re.search(r"\w{3}", line)]
    last = lines[-1] if lines else f"ended with code {code}"
    return re.sub(r"(?<!\w)/[\w.+/-]+", "(path)", last)[:200]


def main() -> None:
    """Measure what the command line names, and go on with the results that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=Path, required=True, help="folder with one environment per peer")
    parser.add_argument("--work", choices=tuple(WORKS), required=True)
    parser.add_argument("--peers", nargs="+", default=[f"{p}:{m}" for p in PEERS for m in PEERS[p]])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.1])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a run is ended")
    parser.add_argument("--output", type=Path, required=True, help="JSON list; results are appended")
    parser.add_argument("--document", type=Path, help="document whose table of results is replaced")
    arguments = parser.parse_args()
    output: Path = arguments.output
    results = json.loads(output.read_text(encoding="utf-8")) if output.exists() else []
    new = measure(
        arguments.environments,
        arguments.work,
        [tuple(name.split(":", 1)) for name in arguments.peers],
        epsilons=arguments.epsilon,
        runs=arguments.runs,
        known=list(results),
        limit=arguments.limit,
    )
    for result in new:
        results.append(result)
        output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(result), flush=True)
    if arguments.document:
        write_summary(arguments.document, results)


if __name__ == "__main__":
    main()
