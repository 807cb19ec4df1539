"""The runs, one by one: each is a whole process, and its figures are yielded as soon as it ends."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.accuracy_leader.parts import ADD_REMOVE, Part
from experiments.labels import words_of
from experiments.peers.measure import measure as measure_peers
from experiments.runs import run_dpopt, run_release
from experiments.tables import Table, prepare

FIGURES = ("max_error", "mean_error", "seconds", "processor_seconds", "peak_mb")
PEER_WORK = "small"
PLAN = "plan"

Result = dict[str, Any]


def measure(
    part: Part, *, runs: int, algorithms: Sequence[str] | None, known: Iterable[Result], quick: bool
) -> Iterator[Result]:
    """Yield the result of each run that is not known yet: every algorithm once, then every algorithm again.

    An algorithm that fails at a budget is not run there again. The first process of all is one more that is not counted: it
    compiles kernels.
    """
    wanted = [
        {"part": part.name, "run": run, "epsilon": epsilon, "algorithm": algorithm, "neighbours": neighbours}
        for run, epsilon, (algorithm, neighbours) in itertools.product(range(runs), part.epsilons, part.variants())
        if (algorithms is None or algorithm in algorithms) and run < part.runs_of(algorithm, runs)
    ]
    done = list(known)
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        folder = Path(place)
        table: Table | None = None
        warm: set[str] = set()
        for labels in wanted:
            if _is_known(labels, done):
                continue
            table = table or prepare(part.table, folder, quick=quick)
            algorithm = str(labels["algorithm"])
            if algorithm not in warm and not quick:
                warm.add(algorithm)
                _warm_up(algorithm, folder)
            done.append({**labels, **_release(part, table, labels, folder)})
            yield done[-1]


def predict(part: Part, *, known: Iterable[Result], quick: bool) -> Iterator[Result]:
    """Yield what `dpopt plan --algorithm auto` says for each budget that is not known yet: its choice and its predictions."""
    done = [result["epsilon"] for result in known if (result["part"], result["algorithm"]) == (part.name, PLAN)]
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        for epsilon in part.epsilons:
            if epsilon in done:
                continue
            table = prepare(part.table, Path(place), quick=quick)
            labels = {"part": part.name, "run": 0, "epsilon": epsilon, "algorithm": PLAN}
            size = "--n0" if part.neighbours == ADD_REMOVE else "--n"
            command = [
                "plan",
                "--compare",
                "--schema",
                str(table.schema),
                "--workload",
                part.workload.format(run=0),
                "--json",
            ]
            command += [size, str(table.rows), "--neighbours", part.neighbours]
            try:
                process = run_dpopt([*command, *_budget(part, epsilon, table)])
            except RuntimeError as error:
                yield {**labels, "failed": _reason(error)}
                continue
            chosen = json.loads(process.output)["chosen"]
            yield {**labels, "failed": None, "seconds": round(process.seconds, 2), "chosen": chosen}


def measure_beside(
    part: Part, environments: Path, peers: Sequence[tuple[str, str]], *, runs: int, known: Iterable[Result]
) -> Iterator[Result]:
    """Yield the runs of the peers on the same work that are not known yet, in the form of our own."""
    ours = [_as_theirs(result) for result in known if result["part"] == part.name and "peer" in result]
    for result in measure_peers(environments, PEER_WORK, peers, epsilons=part.epsilons, runs=runs, known=ours):
        yield as_ours(part, result)


def as_ours(part: Part, result: Result) -> Result:
    """Return a result of `experiments.peers` in the form of this experiment's."""
    labels = {"algorithm": f"{result['peer']} {result['method']}", "neighbours": ADD_REMOVE}
    return {**result, **labels, "part": part.name}


def _as_theirs(result: Result) -> Result:
    return {**result, "work": PEER_WORK}


def _is_known(labels: Result, done: Iterable[Result]) -> bool:
    same = {key: value for key, value in labels.items() if key != "run"}
    return any(
        same.items() <= result.items() and (result["failed"] or result["run"] == labels["run"]) for result in done
    )


def _release(part: Part, table: Table, labels: Result, folder: Path) -> Result:
    options = [*words_of(labels["algorithm"]), "--neighbours", labels["neighbours"], "--no-predict"]
    options += _budget(part, labels["epsilon"], table)
    if labels["algorithm"] != "noise":  # makes no public choices
        options += ["--seed", str(labels["run"])]
    if labels["neighbours"] == ADD_REMOVE:
        options += ["--n0", str(table.rows)]
    workload = part.workload.format(run=labels["run"])
    try:
        run = run_release(table, workload, options, folder)
    except RuntimeError as error:
        return {**dict.fromkeys(FIGURES), "failed": _reason(error)}
    return {
        "max_error": float(f"{run.errors['max_error']:.4g}"),
        "mean_error": float(f"{run.errors['mean_error']:.4g}"),
        "seconds": round(run.process.seconds, 2),
        "processor_seconds": round(run.process.processor_seconds, 2),
        "peak_mb": round(run.process.peak_bytes / 1e6),
        "failed": None,
    }


def _warm_up(algorithm: str, folder: Path) -> None:
    """Run an algorithm once on made-up records; whether it can is told by the run that counts."""
    inner = folder / "warm-up"
    inner.mkdir(exist_ok=True)
    table = prepare("adult-raw", inner, quick=True)
    options = [*words_of(algorithm), "--epsilon", "20", "--delta", "1e-6", "--no-predict"]
    try:
        run_release(table, "marginals:2,count=3,seed=1", options, inner, with_errors=False)
    except RuntimeError:
        return


def _budget(part: Part, epsilon: float, table: Table) -> list[str]:
    delta = part.delta or 1 / table.rows**2
    return ["--epsilon", f"{epsilon:g}", "--delta", repr(delta)]


def _reason(error: RuntimeError) -> str:
    """Return the last lines of what a failed command said, without the command itself."""
    said = str(error).split("failed:\n", 1)[-1]
    return " ".join(said.split())[-300:] or "it said nothing"
