"""Run a peer in its own environment: every run is a process of its own, which gets a table and returns records."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.tables import ROOT

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


class PeerFailedError(Exception):
    """A peer released nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class PeerTable:
    """A coded table: codes (n, d), how many values each column may have, and the names of the columns."""

    codes: NDArray[np.integer]
    sizes: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeerRun:
    """The records that a peer released, (r, d), and the seconds of the processor that it took."""

    records: NDArray[np.int32]
    processor_seconds: float


def run_peer(
    environment: Path,
    peer: str,
    method: str,
    table: PeerTable,
    *,
    epsilon: float,
    delta: float,
    order: int,
    limit: float,
) -> PeerRun:
    """Let a peer release a table by one of its methods, in its virtual environment; PeerFailedError if it releases nothing.

    A method that can be told is told to serve all marginals of `order` columns; the run is ended after `limit` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="dpopt-peer-") as folder:
        data, output = Path(folder) / "table.npz", Path(folder) / "records.npz"
        np.savez(data, codes=table.codes, sizes=np.array(table.sizes), names=np.array(table.names))
        options = {"data": data, "method": method, "epsilon": epsilon, "order": order, "output": output}
        options["delta"] = delta
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
            return PeerRun(stored["codes"], float(stored["processor_seconds"]))


def _reason(errors: str, code: int) -> str:
    """Return the last line with words that a process printed, without paths of this machine."""
    lines = [line.strip() for line in errors.splitlines() if re.search(r"\w{3}", line)]
    last = lines[-1] if lines else f"ended with code {code}"
    return re.sub(r"(?<!\w)/[\w.+/-]+", "(path)", last)[:200]
