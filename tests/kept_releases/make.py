"""`python -m tests.kept_releases.make FOLDER`: a small release of every algorithm and of every synopsis, and what each answers.

It was run once, before the code was rearranged; `test_kept_releases.py` holds every later version to what was released then. A
new algorithm is added by running it again for that one: draws are fresh each time, so nothing that is there is made anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from dpopt.cli.application import application
from dpopt.cli.main import main

ROWS, BUDGET = 400, ("--epsilon", 20, "--delta", 1e-6)
SCHEMA = {
    "dpopt_schema": 1,
    "attributes": [
        {"name": "colour", "type": "categorical", "values": ["red", "green", "blue"], "ordered": True},
        {"name": "age", "type": "numeric", "edges": [0, 20, 40, 60], "integer": True, "missing": "?"},
        {"name": "smoker", "type": "boolean"},
        {"name": "member", "type": "boolean"},
    ],
    "rules": [{"name": "grown up", "if": ["smoker", "=", True], "then": ["age", ">=", 20]}],
}
RELEASES: dict[str, tuple[object, ...]] = {
    "dualquery": ("--rounds", 6, "--draws", 20, "--n0", ROWS),
    "fem": ("--rounds", 4, "--n0", ROWS),
    "projection": ("--measure", "counts", "--rows", 50),
    "adaptive": ("--algorithm", "projection", "--measure", "selected", "--rows", 50),
    "noise": (),
    "mwem": ("--rounds", 4, "--n0", ROWS),
    "pmw": ("--rounds", 4, "--n0", ROWS),
    "smalldb": ("--records", 3, "--n0", ROWS),
    "residuals": ("--algorithm", "projection", "--measure", "residuals", "--records", 20, "--rows", 50),
}
"""Algorithms, and what projection measures; of some the number of records is measured, of others not."""
ONE, TWO = ("--column", "age"), ("--columns", "colour,age")
SYNOPSES: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {
    "histogram.npz": (("histogram", "people.csv", *ONE), ("--query", "20:60", "--quantile", 0.5)),
    "grid.npz": (("grid", "people.csv", *TWO), ("--query", ":,20:60")),
    "intervals.npz": (("intervals", "people.csv", "--columns", "age", "--n0", ROWS), ("--query", "20:60")),
    "boxes.npz": (("intervals", "people.csv", *TWO, "--n0", ROWS), ("--query", ":,20:60")),
    "sorted.npz": (("sorted", "people.csv", *ONE), ()),
    "degrees.npz": (("degrees", "edges.txt", "--nodes", 30), ()),
    "summary.npz": (("summary", "people.csv", "--k", 2, "--n0", ROWS), ("--query", "smoker=true,age>=40")),
    "lists.npz": (("lists", "rows.txt", "--variables", "x1..x4", "--k", 3, "--n0", 40), ("--query", "0101")),
    "halfspaces.npz": (
        ("halfspaces", "points.csv", "--margin", 0.45, "--normalise", "--projected-to", 2, "--projections", 4,
         "--directions", 8, "--n0", 200),
        ("--query", "0.6,0,0.8"),
    ),
    "count.npz": (("count", "people.csv", "--where", "age >= 40", "--most", 8), ("--confidence", 0.9)),
}  # fmt: skip
WITHOUT_SCHEMA = ("degrees", "lists", "halfspaces")


def run(*words: object) -> str:
    """Run a command and return what it prints."""
    assert callable(main)  # importing the module registers the commands
    done = CliRunner().invoke(application, [str(word) for word in words])
    if done.exit_code:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.output}{done.stderr}")
    return done.stdout


def answer(file: Path, asked: tuple[object, ...], place: Path) -> object:
    """Return what a synopsis answers, or all that it holds where it has no answers."""
    kind = SYNOPSES[file.name][0][0]
    if asked:
        return json.loads(run(kind, "answer", file, *asked, "--json"))
    table = place / f"{file.stem}-exported.csv"
    run(kind, "export", file, "-o", table)
    return table.read_text(encoding="utf-8").splitlines()


def write_tables(place: Path) -> None:
    """Write the tables that are released, and the schema of people.csv."""
    generator = np.random.default_rng(5)
    ages = [number * 11 % 59 for number in range(ROWS)]
    rows = [
        (("red", "green", "blue")[number * 7 % 3], age, number % 3 == 0 and age >= 20, number % 5 == 0)
        for number, age in enumerate(ages)
    ]
    lines = (f"{colour},{age},{smoker},{member}".lower() for colour, age, smoker, member in rows)
    (place / "people.csv").write_text("\n".join(["colour,age,smoker,member", *lines]) + "\n")
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    (place / "edges.txt").write_text("".join(f"n{i} n{(i * i + 1) % 30}\n" for i in range(30) if i != (i * i + 1) % 30))
    (place / "rows.txt").write_text("x3:1, !x2:0, else:0\nx1:1, else:1\n" * 20)
    np.savetxt(place / "points.csv", generator.normal(size=(200, 3)), delimiter=",", header="a,b,c", comments="")


def make(folder: Path, place: Path) -> None:
    """Release everything that is not in the folder yet; tables are made in another place."""
    write_tables(place)
    schema = ("--schema", place / "schema.json")
    for name, more in RELEASES.items():
        if not (folder / name).exists():
            named = () if "--algorithm" in more else ("--algorithm", name)
            run("release", place / "people.csv", *schema, "--workload", "marginals:2", *named, *BUDGET, "--no-predict",
                *more, "-o", folder / name)  # fmt: skip
    answers = folder / "answers.json"
    found = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else {}
    for name, (words, asked) in SYNOPSES.items():
        kind, table, *others = words
        if name not in found:
            declared = () if kind in WITHOUT_SCHEMA else schema
            run(kind, "release", place / str(table), *declared, *others, "--epsilon", 5, "-o", folder / name)
            found[name] = answer(folder / name, asked, place)
    answers.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        make(Path(sys.argv[1]), Path(temporary))
