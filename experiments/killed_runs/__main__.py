"""`python -m experiments.killed_runs`: kill releases at random instants and at every step of their writing, and resume them."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.killed_runs.parts import Inputs, Part, dualquery, parts, write_inputs
from experiments.killed_runs.runs import Ended, Forks, Kill, Processes, run_to_the_end, seconds_of
from experiments.killed_runs.stopping import HOWS

FIRST_STEPS = 8
ESTIMATED = ("--free-attributes", "estimated", "--neighbours", "add-remove", "--n0", "400")
RANDOM_PARTS = (
    dualquery(20, "--work", "20000"),
    dualquery(20, "--work", "20000", *ESTIMATED, name="dualquery, one-way marginals, add-remove"),
)


def main(arguments: list[str] | None = None) -> int:
    """Kill, resume, check, and print the table; return 1 if anything is wrong."""
    parser = parser_of("killed_runs")
    parser.add_argument("--kills", type=int, default=200, help="kills at random instants (200)")
    parser.add_argument("--several", type=int, default=40, help="runs of each part with several kills (40)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds where every step is tried (4)")
    parser.add_argument("--seed", type=int, default=1, help="seed of instants and steps (1)")
    return carry_out(parser, arguments, {"rows": _rows}, markdown, failed=_failed)


def _failed(report: Report) -> bool:
    return any(row["problems"] for row in report["rows"])


def _rows(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    generator = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        folder = Path(place)
        yield from _all_kills(folder, write_inputs(folder), options, generator)


def _all_kills(
    folder: Path, inputs: Inputs, options: argparse.Namespace, generator: np.random.Generator
) -> Iterator[Result]:
    with Forks(folder) as forks:
        if options.quick:
            yield _at_steps(forks, inputs, dualquery(2), folder, generator, most=1)
            return
        for part in RANDOM_PARTS:
            for reserved in (False, True):
                kills = options.kills // (2 * len(RANDOM_PARTS))
                yield _at_instants(Processes(forks), inputs, part, folder, generator, kills, reserved=reserved)
        for part in parts(options.rounds):
            yield _at_steps(forks, inputs, part, folder, generator)
            yield _several(forks, inputs, part, folder, generator, runs=options.several)


def _at_instants(
    runner: Processes,
    inputs: Inputs,
    part: Part,
    folder: Path,
    generator: np.random.Generator,
    kills: int,
    *,
    reserved: bool,
) -> Result:
    """Kill one process of each run at an instant, uniform over the time that an unbroken run takes.

    With `reserved`, that time begins with the first line of the transcript.
    """
    seconds = seconds_of(runner, inputs, part, folder / "out", reserved=reserved)
    runs: list[Ended] = []
    while sum(run.kills for run in runs) < kills:  # a run may end before it is killed
        kill = Kill(after=generator.uniform(0, seconds), reserved=reserved)
        runs.append(_one(runner, inputs, part, folder, [kill]))
    since = "the reservation" if reserved else "the start"
    return _row(part, f"random instants of {seconds:.1f} s since {since}", runs)


def _at_steps(
    forks: Forks, inputs: Inputs, part: Part, folder: Path, generator: np.random.Generator, most: int | None = None
) -> Result:
    """Kill one process of each run at a step of its writing, each step in each way."""
    kills = [
        Kill(at=number, how=how)
        for number, kind in enumerate(_steps(forks, inputs, part, folder))
        for how in HOWS[kind]
    ]
    if most is not None:
        kills = [kills[place] for place in sorted(generator.choice(len(kills), most, replace=False))]
    return _row(
        part,
        "every step" if most is None else "some steps",
        [_one(forks, inputs, part, folder, [kill]) for kill in kills],
    )


def _several(
    forks: Forks, inputs: Inputs, part: Part, folder: Path, generator: np.random.Generator, *, runs: int
) -> Result:
    """Kill two to five processes of each run: the first at a random step, each that goes on at one of its first steps."""
    steps = len(_steps(forks, inputs, part, folder))

    def some() -> list[Kill]:
        reaches = [steps, *[FIRST_STEPS] * int(generator.integers(1, 5))]
        return [
            Kill(at=int(generator.integers(0, reach)), how=str(generator.choice(HOWS["write"]))) for reach in reaches
        ]

    return _row(part, "several random steps", [_one(forks, inputs, part, folder, some()) for _ in range(runs)])


def _steps(forks: Forks, inputs: Inputs, part: Part, folder: Path) -> list[str]:
    """Return the steps of an unbroken run."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    if forks.run(inputs.release(part, out), out):
        raise RuntimeError(f"the unbroken run failed: {forks.said}")
    steps = forks.steps
    shutil.rmtree(out)
    return steps


def _one(runner: Forks | Processes, inputs: Inputs, part: Part, folder: Path, kills: Sequence[Kill]) -> Ended:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    ended = run_to_the_end(runner, inputs, part, out, kills)
    for problem in ended.problems:
        print(f"{part.name}, {kills}: {problem}", file=sys.stderr, flush=True)
    return ended


def _row(part: Part, where: str, runs: Sequence[Ended]) -> Result:
    return {
        "part": part.name,
        "where": where,
        "runs": len(runs),
        "finished_as_they_should": sum(not run.problems for run in runs),
        "kills": sum(run.kills for run in runs),
        "before_the_beginning": sum(run.begun_anew for run in runs),
        "torn_lines": sum(run.torn for run in runs),
        "torn_draws": sum(run.lost for run in runs),
        "problems": sorted({problem for run in runs for problem in run.problems}),
    }


def markdown(report: Report) -> Iterator[str]:
    """Yield the table."""
    titles = ["run | killed at | runs | kills | begun anew | torn lines | torn draws", "finished, all checks kept"]
    figures = ("part", "where", "runs", "kills", "before_the_beginning", "torn_lines", "torn_draws")
    rows = (
        [*(row[name] for name in figures), f"{row['finished_as_they_should']} of {row['runs']}"]
        for row in report["rows"]
    )
    yield from table(titles, rows)


if __name__ == "__main__":
    sys.exit(main())
