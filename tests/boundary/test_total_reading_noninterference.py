"""With a total reading and the noise scripted, whole commands on two files do not tell their rows apart.

Neither by exit code, set of files, what is printed, nor by a byte of what is written, whatever the rows hold.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.cli.command_line import call

SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40, 60), integer=True, other=59),
        Attribute("sex", AttributeKind.CATEGORICAL, ("f", "m"), missing="?", ordered=True),
        Attribute("well", AttributeKind.BOOLEAN, other=False, missing=""),
    )
)
HEADER = b"who,age,sex,well\n"
USUAL = HEADER + b"ann,30,f,true\nbob,4,m,false\nann,55,f,true\n"
HOSTILE = [
    b"",
    b"\n\n\r\n",
    b"ann,30,f,true",
    b"x,1e999,nan,inf\n,,,\n,-1e-999,NULL,\n\x00,99999999999999999999,f,TRUE\n",
    b'ann,30,f\nann,30,f,true,9\n"ann,30\n,f,true\n"a"b,1,f,true\nann,"3",f"f,true\n',
    b"\xff\xfe,1,f,true\n\xef\xbb\xbf,1,\xc3,true\n\xed\xa0\x80,2,m,\xf0\n",
    b"# who,age\nann;30;f;true\nann\t30\tf\ttrue\nwho,age,sex,well\n",
    b"a," + b"9" * 70_000 + b",f,true\n" + b"b" * 70_000 + b",1,m,false\n",
    *(bytes(np.random.default_rng(seed).integers(0, 256, 999, dtype=np.uint8).tolist()) for seed in range(3)),
    b"".join(b"p%d,%d,f,true\n" % (number % 7, number % 99) for number in range(5_000)),
]
STRANGE = pa.table(
    {
        "who": pa.array([b"a", b"\xff", None, b""], pa.binary()),
        "age": pa.array([float("nan"), float("-inf"), None, 1e300]),
        "sex": pa.array([None, "f", "\x00", "x" * 70_000], pa.large_string()),
        "well": pa.array(["1", None, "no", "True"]).dictionary_encode(),
    }
)

WHERE = ["--schema", "SCHEMA", "--out", "OUT"]
BUDGET = ["--epsilon", 1, "--delta", 1e-6]
ADD_REMOVE = ["--neighbours", "add-remove"]
COMMANDS: dict[str, list[object]] = {
    "histogram": ["histogram", "release", "TABLE", "--column", "age", *WHERE, *BUDGET],
    "grid": ["grid", "release", "TABLE", "--columns", "age,sex", *WHERE, *BUDGET],
    "sorted": ["sorted", "release", "TABLE", "--column", "sex", *WHERE, *BUDGET],
    "intervals": ["intervals", "release", "TABLE", "--columns", "age", "--n0", 1000, *WHERE, "--epsilon", 1],
    "summary": ["summary", "release", "TABLE", "--k", 2, "--n0", 1000, *WHERE, *BUDGET],
    "release": [
        "release", "TABLE", "--workload", "marginals:2", *WHERE, *BUDGET, *ADD_REMOVE, "--n0", 1000,
        "--algorithm", "noise", "--no-predict",
    ],
}  # fmt: skip
READINGS: dict[str, list[object]] = {
    "other": ["--on-invalid", "other"],
    "clip,drop": ["--on-invalid", "clip,drop"],
    "persons": ["--on-invalid", "drop", "--person", "who", "--rows-per-person", 2],
}
Seen = tuple[int, str, str, dict[str, bytes]]


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let noisy values be the same, whatever the counts."""

    def given(_: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.resize(np.array([700, 3, -2, 11], dtype=np.int64), counts.shape)

    monkeypatch.setattr("dpopt.cli.reports.progress.LINES_APART", 1e9)  # no line because a step takes its time
    monkeypatch.setattr(OpendpNoise, "discrete_gaussian", given)
    monkeypatch.setattr(OpendpNoise, "discrete_laplace", given)


def seen(folder: Path, table: Path, command: list[object]) -> Seen:
    """Run a command on a table; return exit code, what it printed, and all that it wrote."""
    folder.mkdir()
    SCHEMA.write(folder / "schema.json")
    out = folder / "out"
    places = {"TABLE": table, "SCHEMA": folder / "schema.json", "OUT": out}
    counted = ["--n0-counted"] if {"--n0", "--person"} <= set(command) else []
    result = call(*(places.get(str(word), word) for word in command), *counted)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    told = re.sub(r"[0-9.]+ m?s\b", "TIME", result.stderr)
    return (
        result.exit_code,
        # The last line names the table as the user did, whatever is in it.
        result.stdout.replace(str(folder), "").replace(str(table), "TABLE"),
        told.replace(str(folder), ""),
        {str(path.relative_to(folder)): path.read_bytes() for path in files},
    )


def check(folder: Path, tables: list[Path], command: list[object]) -> None:
    before, *others = (seen(folder / f"run{number}", table, command) for number, table in enumerate(tables))
    assert before[0] == 0, before[2]
    for other in others:
        for part, (found, expected) in enumerate(zip(other, before, strict=True)):
            assert found == expected, (part, other[2][:500])


def csv_files(folder: Path) -> list[Path]:
    """Write the usual table, and hostile rows in its place, beside it, before and after it."""
    texts = [USUAL, *(HEADER + rows for rows in HOSTILE), *(USUAL + rows for rows in HOSTILE)]
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}" / "t.csv")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(text)
    return paths


def parquet_files(folder: Path) -> list[Path]:
    """Write tables of the same types: none, one and all of the strange rows."""
    paths = []
    for number, table in enumerate((STRANGE, STRANGE[:0], STRANGE[1:2], pa.concat_tables([STRANGE] * 3))):
        paths.append(folder / f"{number}" / "t.parquet")
        paths[-1].parent.mkdir()
        pq.write_table(table, paths[-1])
    return paths


WRITERS: dict[str, Callable[[Path], list[Path]]] = {"csv": csv_files, "parquet": parquet_files}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("kind", WRITERS)
def test_no_row_changes_anything_but_what_is_charged_for(tmp_path: Path, kind: str, reading: str) -> None:
    tables = WRITERS[kind](tmp_path)
    check(tmp_path, tables, [*COMMANDS["histogram"], *READINGS[reading]])


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "histogram"])
def test_every_command_reads_to_the_end(tmp_path: Path, command: str) -> None:
    tables = csv_files(tmp_path)
    chosen = [tables[0], tables[1], tables[4], tables[-1]]
    check(tmp_path, chosen, [*COMMANDS[command], *READINGS["persons"]])


@pytest.mark.parametrize("reading", READINGS)
def test_an_engine_of_files_reads_to_the_end(tmp_path: Path, reading: str) -> None:
    tables = csv_files(tmp_path)
    chosen = [tables[0], tables[1], tables[6], tables[-2]]
    check(tmp_path, chosen, [*COMMANDS["release"], *READINGS[reading], "--engine", "stream"])


@pytest.mark.parametrize(
    "options",
    [
        ["dualquery", *BUDGET, "--rounds", 4, "--draws", 3],
        ["projection", "--measure", "selected", "--rho", 0.1],
        ["projection", "--rho", 0.1],
        ["pmw", *BUDGET],
        ["mwem", *BUDGET, "--rounds", 2],
        ["smalldb", "--epsilon", 1, "--accountant", "pure", "--records", 2],
    ],
    ids=lambda options: str(options[0]),
)
def test_every_algorithm_holds_a_table_without_records(tmp_path: Path, options: list[object]) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(HEADER + b"ann,?,?,?\n")
    command = COMMANDS["release"]
    words = [*command[: command.index(BUDGET[0])], *ADD_REMOVE, "--n0", 1000, "--no-predict", "--on-invalid", "drop"]
    code, _, told, files = seen(tmp_path / "run", table, [*words, "--algorithm", *options])
    assert code == 0, told
    assert "out/release.json" in files
    assert "no records to compare with" in call("evaluate", tmp_path / "run" / "out", table).stderr


def test_a_packed_file_and_a_folder_read_to_the_end(tmp_path: Path) -> None:
    folders = []
    for number, rows in enumerate((b"ann,1,f,true\n", *HOSTILE[:5])):
        folders.append(tmp_path / f"{number}" / "table")
        folders[-1].mkdir(parents=True)
        (folders[-1] / "a.csv").write_bytes(USUAL)
        (folders[-1] / "b.csv.gz").write_bytes(gzip.compress(HEADER + rows))
    check(tmp_path, folders, [*COMMANDS["histogram"], *READINGS["persons"]])


def test_what_a_release_ends_with_by_default_tells_of_a_row(tmp_path: Path) -> None:
    """The check sees what it is for: without a total reading it is red."""
    tables = csv_files(tmp_path)
    with pytest.raises(AssertionError):
        check(tmp_path, [tables[0], tables[4]], COMMANDS["histogram"])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("reading", ["clip,drop", "persons"])
def test_a_private_number_of_records_is_never_taken_as_public(tmp_path: Path, command: str, reading: str) -> None:
    words = [word for word in COMMANDS[command] if word not in ADD_REMOVE]
    for option in ("--n0", "--n"):
        if option in words:
            place = words.index(option)
            words = words[:place] + words[place + 2 :]
    table = csv_files(tmp_path)[0]
    code, _, told, files = seen(tmp_path / "run", table, [*words, *READINGS[reading], "--neighbours", "replace"])
    assert (code, set(files)) == (2, {"schema.json"})
    assert "use --neighbours add-remove" in " ".join(told.split())
