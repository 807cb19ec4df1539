"""The runs whose rounds solvers and formulations are compared on: 60 rounds each of KDD99 and of Adult."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.runs import run_dpopt
from experiments.tables import prepare

ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Recipe:
    """A table and the plan of its run."""

    name: str
    table: str
    draws: int
    options: tuple[str, ...]


RECIPES = (
    Recipe("kdd99", "kdd99-coded", 1750, ("--epsilon", "1", "--step", "1.2")),
    Recipe("adult", "adult-coded", 1000, ("--epsilon", "2", "--step", "1.4")),
)


def third_of(number: int, rounds: int) -> str:
    """Return whether a round (from 1) lies in the first, second or last third of a run."""
    return ("first", "second", "last")[(number - 1) * 3 // rounds]


def make_transcript(recipe: Recipe, folder: Path, *, quick: bool = False) -> Path:
    """Release the table of a recipe and return the release folder; quick: one round on a made-up table."""
    table = prepare(recipe.table, folder, quick=quick)
    out = folder / f"run-{recipe.name}"
    workload = f"conjunctions:3,count={300 if quick else 500_000},seed=7"
    size = ["--rounds", "1", "--draws", "60"] if quick else ["--rounds", str(ROUNDS), "--draws", str(recipe.draws)]
    options = [*recipe.options, *(["--epsilon", "1e6"] if quick else [])]
    command = [
        "release",
        str(table.path),
        "--schema",
        str(table.schema),
        "--algorithm",
        "dualquery",
        "--neighbours",
        "replace",
        "--workload",
        workload,
        "--out",
        str(out),
    ]
    run_dpopt([*command, "--quiet", "--no-predict", "--delta", "1e-3", *size, *options])
    return out
