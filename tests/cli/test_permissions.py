"""The permissions of all files and folders that commands make: 0666 and 0777 less the umask, and 0600 for the owner's alone.

All commands run here, without a umask, so that what they ask for is seen in full. That the umask is taken from it is tried in
`tests/files/test_written_files.py`; that nothing makes files in another way, in `tests/boundary/test_bans.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from dpopt.cli.application import application
from tests.cli.command_line import inputs, release_arguments, succeed, words
from tests.comparison.test_cases import write as write_instance

OWNERS = {"draft.json", "draft.html", "timings.json", "run.log", "later.log", "owner.html"}
"""What depends on the table without a charge."""

READ = set(
    words("--budget --plan --schema --names --hierarchy --release --evaluate --query-file --data --histogram --file")
    + words("--instance --public-table --given --point-weights")
)
"""Options of the command line whose file is read, or was made by `dpopt budget create`; those of all others are written."""


@pytest.fixture
def without_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def calls(given: Path, out: Path) -> list[list[object]]:
    """Return calls that write into `out`, each after those whose files it reads."""
    table, schema = inputs(given)
    (given / "edges.txt").write_text("1 2\n2 3\n3 1\n3 4\n")
    (given / "rows.txt").write_text("x1 | x2\nx2\n" * 20)
    (given / "baskets.txt").write_text("0 1\n1 2\n3\n" * 9)
    (given / "points.csv").write_text("a,b,c\n" + ".6,0,.8\n0,1,0\n" * 9)
    instance = write_instance(given / "tiny.toml")
    spent = ["--epsilon", 5, "-o"]
    of_people = [table, "--schema", schema]
    column = [*of_people, "--column", "age", *spent]
    columns = [*of_people, "--columns", "colour,age", *spent]
    run = release_arguments(given, "--timings", out / "timings.json", "--log", out / "run.log")
    run[run.index("--out") + 1] = out / "new" / "run"
    wide = ["release", given / "baskets.txt", "--binary-columns", 4, "--layout", "baskets", "--workload",
            "conjunctions:2,count=9,seed=1", "--algorithm", "dualquery", "--epsilon", 1e5, "--delta", 1e-6,
            "--rounds", 3, "--draws", 4, "--no-predict"]  # fmt: skip
    return [
        ["schema", "infer", table, "-o", out / "draft.json"],
        run,
        ["resume", out / "new" / "run", table, "--timings", out / "timings.json", "--log", out / "later.log"],
        ["replay", out / "new" / "run", "-o", out / "again"],
        ["plan", "--schema", schema, "--n0", 200, *spent, out / "plan.json"],
        [*wide, "--out", out / "wide"],
        [*wide, "--out", out / "baskets", "--format", "baskets"],
        ["answer", out / "new" / "run", "count", "-o", out / "answers.csv"],
        ["report", out / "new" / "run", "-o", out / "report.html"],
        ["report", out / "new" / "run", table, "-o", out / "owner.html"],
        ["certify", out / "new" / "run", "--solver", "none", "--round-numbers", "1", "--out", out / "certified.json"],
        ["reweight", out / "new" / "run", "-o", out / "weighted"],
        ["compare", instance, "--solvers", "local-search", "--seconds", 1, "--out", out / "compared"],
        ["bench", "run", instance, "--solvers", "local-search", "--seconds", 1, "--out", out / "board"],
        ["inspect", out / "new" / "run", "-o", out / "rounds.csv"],
        ["count", "release", *of_people, "--where", "age >= 40", "--most", 3, *spent, out / "count.npz"],
        ["count", "export", out / "count.npz", "-o", out / "count.json"],
        ["histogram", "release", *column, out / "histogram.json"],
        ["histogram", "export", out / "histogram.json", "-o", out / "histogram.csv"],
        ["histogram", "export", out / "histogram.json", "-o", out / "histogram.png"],
        ["prefixes", "release", *column, out / "prefixes.jsonl", "--delta", 1e-6, "--steps", 1],
        ["prefixes", "export", out / "prefixes.jsonl", "-o", out / "prefixes.csv"],
        ["grid", "release", *columns, out / "grid.json"],
        ["grid", "export", out / "grid.json", "-o", out / "grid.csv"],
        ["intervals", "release", *of_people, "--columns", "age", *spent, out / "intervals.json", "--n0", 200],
        ["intervals", "export", out / "intervals.json", "-o", out / "intervals.csv"],
        ["intervals", "from-histogram", out / "histogram.json", "--intervals", 2, "-o", out / "joined.csv"],
        ["sorted", "release", *column, out / "sorted.json"],
        ["sorted", "export", out / "sorted.json", "-o", out / "s.csv", "--sequence", out / "s2.csv"],
        ["degrees", "release", given / "edges.txt", "--nodes", 5, *spent, out / "degrees.json"],
        ["degrees", "export", out / "degrees.json", "-o", out / "d.csv", "--sequence", out / "d2.csv"],
        ["summary", "release", *of_people, "--k", 2, "--n0", 200, *spent, out / "summary.npz"],
        ["summary", "export", out / "summary.npz", "-o", out / "summary.json"],
        ["lists", "release", given / "rows.txt", "--kind", "disjunctions", "--variables", "x1..x3", "--k", 2,
         "--n0", 40, *spent, out / "lists.npz"],
        ["lists", "export", out / "lists.npz", "-o", out / "lists.json"],
        ["halfspaces", "release", given / "points.csv", "--margin", 0.4, "--projected-to", 2, "--projections", 9,
         "--directions", 4, "--n0", 18, *spent, out / "halfspaces.npz"],
        ["halfspaces", "export", out / "halfspaces.npz", "-o", out / "halfspaces.json"],
        ["polynomial", "--k", 3, "--degree", 2, "-o", out / "p.json", "--plot", out / "p.png"],
        ["polynomial", "--k", 2, "--error", 0.1, "--least-degrees", out / "degrees.csv"],
        ["model", "export", "isotonic_regression", "-o", out / "model.lp"],
    ]  # fmt: skip


def writing_options() -> set[tuple[str, str]]:
    """Return (words of the command, option) for each option of the command line that names what is written."""

    def below(group: object, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        for name, command in getattr(group, "commands", {}).items():
            yield from below(command, (*words, name))
            for parameter in command.params:
                is_path = parameter.type_descriptor.annotation is Path
                if parameter.param_type_name == "option" and is_path and parameter.opts[0] not in READ:
                    yield " ".join((*words, name)), parameter.opts[0]

    return set(below(typer.main.get_command(application), ()))


def test_every_option_that_writes_is_tried(tmp_path: Path) -> None:
    """Left out: `demo` and `studio`, which call what `release` and `replay` call; `reproduce`, which reads made-up data."""
    (tmp_path / "given").mkdir()
    tried = {
        (" ".join(str(word) for word in call[:length]), "-o" if word == "--out" else str(word))
        for call in calls(tmp_path / "given", tmp_path)
        for length in (1, 2)
        for word in call
    }
    wanted = {(words, "-o" if option == "--out" else option) for words, option in writing_options()}
    assert wanted - tried == {("demo", "--keep"), ("reproduce", "-o"), ("studio", "--folder")}


@pytest.mark.usefixtures("without_umask")
def test_what_is_private_is_the_owners_alone_and_the_rest_is_as_the_umask_says(tmp_path: Path) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    out.mkdir()
    for call in calls(given, out):
        if call[0] == "resume":
            (out / "new" / "run" / "release.json").unlink()
        succeed(*call)
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*")}
    assert {path.name for path in found} > OWNERS
    for path, mode in found.items():
        assert mode == (0o777 if path.is_dir() else 0o600 if path.name in OWNERS else 0o666), path.name
    assert not [path.name for path in found if path.name.startswith(".")]
