"""`python -m experiments.fuzz`: damaged files are read, or refused with an error of dpopt, and nothing else happens.

Whole files come from the command line itself (`make_samples`). A case has a number, which says the kind of file and seeds
the changes (`damaged`); the reader of the kind then reads the outcome, in a process whose memory is limited. What may happen
is that the file is read, or that a `DpoptError` is raised. Any other exception, an allocation that fails, too long a time and
the end of the process are failures.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.errors import DpoptError
from experiments.documents import table
from experiments.experiment import present, write_report
from experiments.labels import words_of
from experiments.machine import describe_circumstances
from experiments.tables import ROOT

Files = dict[str, bytes]
"""The files of a case by name; one of them, or a release folder."""
Reader = Callable[[Path], object]
Report = dict[str, Any]

SECONDS, BYTES = 10, 3 * 2**30
"""What a case may take: of the processor, and of addresses beyond those of a process that has read the whole files."""
SILENT = 300
"""Seconds after which a process that has not begun another case is taken for stuck."""
ALGORITHMS = ("dualquery", "noise", "projection", "adaptive", "residuals", "fem", "mwem")


# --- whole files ---------------------------------------------------------------------------------------------------


def call(*words: object) -> None:
    """Run a command of dpopt in this process."""
    from typer.testing import CliRunner

    from dpopt.cli.application import application
    from dpopt.cli.main import main

    assert callable(main)  # importing the module registers the commands
    done = CliRunner().invoke(application, [str(word) for word in words])
    if done.exit_code:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.output}{done.stderr}")


def make_samples(folder: Path, algorithms: Sequence[str] = ALGORITHMS) -> None:
    """Write whole files of each kind, and a release folder for each of these algorithms."""
    generator = np.random.default_rng(1)
    columns = {"colour": ("red", "green", "blue"), "age": range(60), "smoker": ("true", "false")}
    rows = [[str(generator.choice(list(values))) for values in columns.values()] for _ in range(200)]
    (folder / "people.csv").write_text("\n".join(map(",".join, [list(columns), *rows])) + "\n")
    schema = {
        "dpopt_schema": 1,
        "attributes": [
            {"name": "colour", "type": "categorical", "values": ["red", "green", "blue"], "ordered": True},
            {"name": "age", "type": "numeric", "edges": [0, 20, 40, 60], "integer": True, "missing": "?"},
            {"name": "smoker", "type": "boolean"},
        ],
    }
    rules = [
        {"name": "grown up", "if": ["smoker", "=", True], "then": ["age", ">=", 20]},
        {"at_most": 1, "of": [["colour", "in", ["red", "blue"]], {"not": ["age", "is", "missing"]}]},
        {"forbidden": ["colour", "smoker"], "combinations": [["green", True]]},
    ]
    write_json(folder / "rules.json", {**schema, "rules": rules})
    write_json(folder / "schema.json", schema)
    workload = {
        "dpopt_workload": 1,
        "queries": [
            [["colour", "=", "red"], ["smoker", "!=", True]],
            {"literals": [["smoker", "=", True]], "accepted": [0]},
        ],
    }
    write_json(folder / "workload.json", workload)
    write_json(folder / "hierarchy.json", [["[0, 20)", 1], [2, "missing"]])
    (folder / "ranges.csv").write_text('range,weight\n"[0, 20):[20, 40)",1\n"[20, 40):missing",2.5\n')
    (folder / "ranks.txt").write_text("b\na\nd\n")
    (folder / "names.txt").write_text("a\nb\nc d\n")
    (folder / "values.txt").write_text("0, 1, 1/2\n0.25 1e0\n")
    write_json(folder / "declaration.json", {"variables": "x1..x4", "k": 3, "kind": "lists", "changes": 2})
    (folder / "points.csv").write_text("x1,x2,x3,x4\n0,1,0,1\n1,1,0,0\n")
    np.save(folder / "points.npy", np.array([[0, 1, 0, 1], [1, 1, 0, 0]], dtype=np.uint8))
    (folder / "queries.csv").write_text("a,b,c\n1,0,0.5\n-1,2e-1,0\n")
    (folder / "rows.txt").write_text("x3:1, !x2:0, else:0\nx1:1, else:1\n# none\n\n!x4:1, x1:0, x2:1, else:0\n" * 9)
    (folder / "instance.toml").write_text(
        'how_known = "by hand"\noptimum = 5\nrecord = "0=1"\n[problem]\nsizes = [2, 3]\n[[problem.clauses]]\nweight = '
        '5\nliterals = [[0, "=", 1], [1, "!=", 2]]\n[[problem.clauses]]\nweight = -3\nliterals = [[1, "=", '
        "1]]\nnegated = false\n"
    )
    _make_releases(folder, algorithms)
    _make_tables(folder, generator)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")


def _make_releases(folder: Path, algorithms: Sequence[str]) -> None:
    table, schema = folder / "people.csv", ("--schema", folder / "schema.json")
    for algorithm in algorithms:
        more = ("--rounds", 2) if algorithm in {"dualquery", "fem", "mwem"} else ()
        more = (*more, "--draws", 3) if algorithm == "dualquery" else more
        call("release", table, *schema, "--workload", "marginals:2", *words_of(algorithm), "--epsilon", 20, "--delta",
             1e-6, "--no-predict", "-o", folder / f"release-{algorithm}", *more)  # fmt: skip
    call("budget", "create", folder / "budget.jsonl", "--epsilon", 30, "--delta", 0)
    for epsilon in (1, 2.5):
        paid = ("--budget", folder / "budget.jsonl", "-o", folder / f"paid-{epsilon}.npz")
        call("histogram", "release", table, *schema, "--column", "age", "--epsilon", epsilon, *paid)
    call(
        "certify",
        folder / "release-dualquery",
        "--solver",
        "none",
        "--round-numbers",
        1,
        "--out",
        folder / "bounds.json",
    )
    for kind in ("histogram", "grid", "sorted", "intervals", "summary", "lists", "halfspaces"):
        named: tuple[str, ...] = ("--column", "age")
        if kind in {"grid", "intervals"}:
            named = ("--columns", "colour,age" if kind == "grid" else "age")
        where = folder / f"{kind}.npz"
        words: tuple[object, ...] = (table, *schema, *named)
        if kind == "summary":
            words = (table, *schema, "--k", 2, "--n0", 200)
        if kind == "lists":
            words = (folder / "rows.txt", "--variables", "x1..x4", "--k", 3, "--n0", 30)
        if kind == "halfspaces":
            numbers = np.random.default_rng(2).normal(size=(200, 3))
            np.savetxt(folder / "numbers.csv", numbers, delimiter=",", header="a,b,c", comments="")
            np.save(folder / "numbers.npy", numbers)
            words = (folder / "numbers.csv", "--margin", 0.45, "--normalise", "--projected-to", 2, "--projections", 4,
                     "--directions", 8, "--n0", 200)  # fmt: skip
        more = ("--n0", 200) if kind == "intervals" else ()
        call(kind, "release", *words, "--epsilon", 5, *more, "-o", where)
    call("histogram", "release", table, *schema, "--column", "age", "--epsilon", 5, "--hierarchy", folder / "hierarchy.json",
         "-o", folder / "by-hierarchy.npz")  # fmt: skip
    call("intervals", "release", table, *schema, "--columns", "colour,age", "--epsilon", 50, "--n0",
         200, "-o", folder / "boxes.npz")  # fmt: skip
    call("polynomial", "--predicate", "or", "--k", 4, "--degree", 2, "-o", folder / "polynomial.json")


def _make_tables(folder: Path, generator: np.random.Generator) -> None:
    from scipy.io import mmwrite
    from scipy.sparse import coo_array, save_npz

    from dpopt import write_bit_file

    cells = generator.integers(0, 2, (12, 4))
    for form in ("csr", "csc", "coo"):
        save_npz(folder / f"matrix-{form}.npz", coo_array(cells).asformat(form))
    mmwrite(folder / "matrix.mtx", coo_array(cells * 2.5), comment="a remark", symmetry="general")
    mmwrite(folder / "pattern.mtx", coo_array(cells), field="pattern", symmetry="general")
    write_bit_file(folder / "table.bits", 12, (column.astype(bool) for column in cells.T))


# --- the readers ---------------------------------------------------------------------------------------------------


def readers(folder: Path) -> dict[str, tuple[list[Path], Reader]]:
    """Return for each kind its whole files, or folders, and what reads them."""
    import dpopt
    from dpopt.algorithms.after.certify import read_rounds
    from dpopt.algorithms.replay import load
    from dpopt.cli.reports.declared import names_of_columns
    from dpopt.cli.synopses.polynomial import _target
    from dpopt.comparison.instances import read_instance
    from dpopt.polynomials.minimax import read_solution
    from dpopt.private.readers import read_numbers as halfspace_points
    from dpopt.private.readers.binary.bit_file import read_bit_file
    from dpopt.private.readers.binary.matrices import read_matrix_market, read_npz
    from dpopt.queries.decision_lists.families import ListFamily
    from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
    from dpopt.queries.ranges.bins import Bins
    from dpopt.queries.ranges.tree import read_hierarchy
    from dpopt.queries.ranges.weighted_ranges import WeightedRanges
    from dpopt.queries.workloads.items import read_ranks
    from dpopt.synopses.decision_lists.list_summary import ListSummary, read_declaration, read_points
    from dpopt.synopses.halfspaces.halfspaces import Halfspaces, read_queries
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
    from dpopt.synopses.intervals.partition_release import PartitionRelease
    from dpopt.synopses.summaries.summary import Summary

    schema = dpopt.Schema.read(folder / "schema.json")
    items = dpopt.Schema.binary(4, ["a", "b", "c", "d"])
    bins = Bins("age", 4, ("[0, 20)", "[20, 40)", "[40, 60]", "missing"))
    family = ListFamily.of("x1..x4", 3)
    points = PointColumns(("a", "b", "c"), Scaling.NORMALISE)
    one = {
        "schema": ("schema.json rules.json", lambda path: dpopt.Schema.read(path).circuit()),
        "workload": ("workload.json", lambda path: dpopt.parse_workload(str(path), schema)),
        "hierarchy": ("hierarchy.json", lambda path: read_hierarchy(path, bins)),
        "ranges": ("ranges.csv", lambda path: WeightedRanges.read(path, bins)),
        "ranks": ("ranks.txt", lambda path: read_ranks(path, items)),
        "names": ("names.txt", lambda path: dpopt.Schema.binary(3, names_of_columns(path))),
        "values of a predicate": ("values.txt", lambda path: _target(f"table:{path}", None)),
        "declaration of lists": ("declaration.json", read_declaration),
        "points of lists": ("points.csv points.npy", lambda path: read_points(path, family)),
        "queries of halfspaces": ("queries.csv", lambda path: read_queries(path, ("a", "b", "c"))),
        "instance": ("instance.toml", read_instance),
        "polynomial": ("polynomial.json", read_solution),
        "certified rounds": ("bounds.json", lambda path: read_rounds(path, folder / "release-dualquery")),
        "budget": ("budget.jsonl", lambda path: dpopt.BudgetLedger(path).contents().report()),
        "histogram": ("histogram.npz by-hierarchy.npz", lambda path: Histogram.read(path).counts),
        "grid": ("grid.npz", GridHistogram.read),
        "sorted counts": ("sorted.npz", SortedCountsRelease.read),
        "intervals": ("intervals.npz boxes.npz", lambda path: PartitionRelease.read(path).weights),
        "summary": ("summary.npz", Summary.read),
        "summary of lists": ("lists.npz", ListSummary.read),
        "halfspaces": ("halfspaces.npz", Halfspaces.read),
        "table: npz": ("matrix-csr.npz matrix-csc.npz matrix-coo.npz", lambda path: read_npz(path, 4)),
        "table: Matrix Market": ("matrix.mtx pattern.mtx", lambda path: read_matrix_market(path, 4)),
        "table: npy": ("numbers.npy", lambda path: halfspace_points.read_points(path, points)),
        "table: bits": ("table.bits", lambda path: read_bit_file(path, 4)),
    }
    found = {kind: ([folder / name for name in names.split()], read) for kind, (names, read) in one.items()}
    found["release folder"] = (sorted(folder.glob("release-*")), load)
    return found


# --- damage --------------------------------------------------------------------------------------------------------

HOSTILE: tuple[object, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        255,
        2**16,
        10**6,
        2**31 - 1,
        2**31,
        2**32,
        2**53,
        2**63,
        2**64,
        10**18,
        -(2**63),
        10**40,
    ),
    *(0.5, -0.0, 1e-320, 1e15, 1e300, -1e300, float("nan"), float("inf"), 10**400),
    *(
        "",
        "x",
        "\0",
        "a\0b",
        "\ud800",
        "\ufeff",
        "1",
        "1/0",
        "1/3",
        "-1",
        "1e9",
        "1e-999999999",
        "9" * 400,
        "missing",
        "marginals:9",
    ),
    *([], {}, [[]], [None], [0, 0], [1e308, 1e308], [[0] * 3] * 3, {"a": 1}, [2**62] * 4),
)
"""Values put in the place of others."""
TOKENS = (
    *("NaN", "-Infinity", "1e999", "-", "1" * 5000, "0x1", "1_0", "999999999999", "1e-400", "1.0", "nan", "inf"),
    *("\x00", "\ufeff", "\u2028", "\xff", "\r", "\\ud800", "[" * 3000, '{"a":' * 3000, '"', ",", "=", "#", "%", "::"),
)
"""Texts put into texts."""


def damaged(files: Files, rng: random.Random) -> Files:
    """Return files with one of them changed, once or a few times."""
    name = rng.choice(sorted(files))
    data = files[name]
    changed = dict(files)
    if len(files) > 1 and rng.random() < 0.03:
        del changed[name]
        return changed
    form = Path(name).suffix
    plain = rng.random()
    if plain < 0.1:
        changed[name] = _of_bytes(data, rng)
    elif form == ".json" and plain < 0.85:
        changed[name] = _of_json(data, rng)
    elif form == ".jsonl" and plain < 0.85:
        changed[name] = _of_transcript(data, rng)
    elif form == ".npz":
        changed[name] = _of_archive(data, rng)
    elif form in {".npy", ".bits"}:
        changed[name] = _of_array(data, rng) if form == ".npy" else _of_bytes(data, rng)
    else:
        changed[name] = _of_text(data, rng)
    return changed


def _some(rng: random.Random) -> range:
    return range(rng.choice((1, 1, 1, 2, 3)))


def _of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes."""
    held = bytearray(data)
    for _ in _some(rng):
        place, length = rng.randrange(len(held) + 1), rng.choice((1, 2, 4, 8, 100))
        what = rng.randrange(6)
        if what == 0 and place < len(held):
            held[place] ^= 1 << rng.randrange(8)
        elif what == 1:
            del held[place:]
        elif what == 2:
            del held[place : place + length]
        elif what == 3:
            held[place:place] = held[place : place + length]
        elif what == 4:
            held[place:place] = rng.choice((b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b"\n", rng.randbytes(length)))
        else:
            held[place : place + 8] = rng.choice((0, 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)).to_bytes(
                8, "little"
            )
    return bytes(held)


def _of_text(data: bytes, rng: random.Random) -> bytes:
    """Change words, lines and signs of a text."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in _some(rng):
        what = rng.randrange(5)
        if what < 2:
            words = re.split(r"([^\w.+-]+)", text)
            words[rng.randrange(len(words))] = rng.choice((*TOKENS, rng.choice(words), str(rng.choice(HOSTILE))))
            text = "".join(words)
        elif what < 4:
            lines = text.split("\n")
            place = rng.randrange(len(lines))
            lines[place : place + rng.randrange(3)] = rng.choice(([], [rng.choice(lines)], [rng.choice(TOKENS)], [""]))
            text = "\n".join(lines)
        else:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(TOKENS) + text[place + rng.randrange(3) :]
    return text.encode("utf-8", "surrogateescape" if "\ud800" not in text else "surrogatepass")


def _of_json(data: bytes, rng: random.Random) -> bytes:
    """Change the tree of a JSON text."""
    value = _of_tree(json.loads(data), rng)
    text = json.dumps(value)
    if rng.random() < 0.05:
        return _of_text(text.encode(), rng)
    if rng.random() < 0.03:  # a key twice
        place = text.find("{") + 1
        return (text[:place] + text[place:].partition(",")[0] + "," + text[place:]).encode()
    return text.encode()


def _of_tree(value: Any, rng: random.Random) -> Any:
    """Return a tree with some of its values changed."""
    held = [value]
    for _ in _some(rng):
        places = list(_places(held))
        parts, key = rng.choice(places)
        what = rng.randrange(9)
        if what == 8:  # one number wherever it stands, so that sizes still agree
            number, another = (parts[key], rng.choice((0, 1, 7, 2**20, 2**24, 2**31, 10**15, 2**62, 10**30, 1e300)))
            for others, there in places:
                if type(others[there]) is int and others[there] == number:
                    others[there] = another
        elif what == 0 and parts is not held:
            del parts[key]
        elif what == 1:
            other, there = rng.choice(places)
            parts[key] = copy.deepcopy(other[there])
        elif what == 2 and isinstance(parts, list):
            parts[key:key] = [copy.deepcopy(parts[key])] * rng.choice((1, 1, 2, 50))
        elif what == 3 and isinstance(parts[key], list):
            rng.shuffle(parts[key])
        elif what == 4 and isinstance(parts[key], dict):
            parts[key][rng.choice(("x", "", "size", *list(parts[key]), "\0"))] = rng.choice(HOSTILE)
        elif what == 5 and isinstance(parts[key], int | float):
            number = parts[key] if abs(parts[key]) < 1e300 else 7
            parts[key] = rng.choice(
                (number + 1, number - 1, -number, number * 2, number * 10**6, number // 3, f"{number}", [number])
            )
        elif what == 6 and isinstance(parts[key], str):
            text, place = parts[key], rng.randrange(len(parts[key]) + 1)
            parts[key] = (
                text[:place]
                + rng.choice(("", "\0", "9", "-", ",", rng.choice(TOKENS)[:20]))
                + text[place + rng.randrange(3) :]
            )
        else:
            parts[key] = copy.deepcopy(rng.choice(HOSTILE))
    return held[0]


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every list or object of a tree with each of its places."""
    waiting = [tree]
    while waiting:
        parts = waiting.pop()
        for key in parts if isinstance(parts, dict) else range(len(parts)):
            yield parts, key
            if isinstance(parts[key], dict | list):
                waiting.append(parts[key])


def _of_transcript(data: bytes, rng: random.Random) -> bytes:
    """Change entries of a transcript, which get the checksums that they need."""
    entries = [json.loads(line)["entry"] for line in data.splitlines()]
    what = rng.randrange(4)
    place = rng.randrange(len(entries))
    if what == 0:
        entries[place : place + 1] = rng.choice(([], [entries[place]] * 2, [rng.choice(entries)]))
    else:
        entries[place] = _of_tree(entries[place], rng)
    return b"".join(map(_line, entries))


def _line(entry: object) -> bytes:
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","entry":{text}}}\n'.encode()


def _of_archive(data: bytes, rng: random.Random) -> bytes:
    """Change members of an archive, or what its directory says of them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    if "statement.npy" in members and rng.random() < 0.7:
        name = "statement.npy"
    if name == "statement.npy":
        text = bytes(np.load(io.BytesIO(members[name])))
        changed = np.frombuffer(_of_json(text, rng), dtype=np.uint8)
        stream = io.BytesIO()
        np.save(stream, changed)
        members[name] = stream.getvalue()
    elif rng.random() < 0.1:
        del members[name]
    else:
        members[name] = _of_array(members[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for one, held in members.items():
            archive.writestr(one, held)
    whole = stream.getvalue()
    if rng.random() < 0.15:
        place = whole.rindex(b"PK\x01\x02") + rng.choice((8, 10, 20, 24, 28, 42))
        size = rng.choice((0, 1, 10**9, 2**31, 2**32 - 1)).to_bytes(4, "little")
        whole = whole[:place] + size + whole[place + 4 :]
    return whole


def _of_array(data: bytes, rng: random.Random) -> bytes:
    """Change numbers of an array of NumPy, its type and its shape, or the header alone."""
    array = np.load(io.BytesIO(data))
    what = rng.randrange(5)
    if what == 0:
        return _of_bytes(data, rng)
    if what == 1:  # the header says something else
        shape = rng.choice(((10**15,), (-1,), (2**62, 4), (), (0,), (0, 10**18), (3,), (array.size + 1,), (2**31,)))
        kind = rng.choice(
            (array.dtype.str, array.dtype.str, "<i8", "<f8", "|O", "<U0", "|V8", "<c16", ">i8", "<M8[s]", "<U100000000")
        )
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            stream, {"descr": kind, "fortran_order": rng.random() < 0.2, "shape": shape}
        )
        changed: bytes = stream.getvalue() + array.tobytes()
        return changed
    if what == 2:
        kinds = ("int8", "uint64", "float16", "float64", "bool", ">i4", "complex64", "longdouble", "U3", "S2")
        with np.errstate(all="ignore"), suppress(ValueError, TypeError):
            array = array.astype(rng.choice(kinds))
    elif what == 3:
        array = rng.choice(
            (array.ravel()[:-1], np.repeat(array, 2), array.reshape(-1, 1), array[..., None], np.zeros(0))
        )
    elif array.size and array.dtype.kind in "iuf":
        array = array.copy()
        numbers = (0, -1, 1, 3, 200, 2**31, 2**62, -(2**63), 2**63 - 1)
        with suppress(OverflowError, ValueError):  # it does not fit the type
            array.flat[rng.randrange(array.size)] = rng.choice(numbers)
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


# --- cases ---------------------------------------------------------------------------------------------------------


class TooLongError(BaseException):
    """A case takes more than its seconds of the processor."""


class Cases:
    """The cases of whole files in a folder; each kind has the same share."""

    def __init__(self, folder: Path) -> None:
        self._readers = readers(folder)
        self.kinds = list(self._readers)
        self._whole = {kind: [_contents(path) for path in paths] for kind, (paths, _) in self._readers.items()}

    def read_whole(self) -> None:
        """Read all whole files: what is compiled when it is first used is there from then on."""
        for paths, read in self._readers.values():
            for path in paths:
                read(path)

    def outcome(self, kind: str, rng: random.Random, place: Path) -> str:
        """Return "read", "refused", or what a failure is; the files are made in a folder."""
        files = damaged(rng.choice(self._whole[kind]), rng)
        if kind == "release folder" and rng.random() < 0.8:
            files = _agreeing(files, place)
        path = _written(files, place)
        if kind != "release folder":
            path /= next(iter(files))
        try:
            with _limited_time():
                self._readers[kind][1](path)
        except DpoptError as error:
            return "refused" if not _is_of_memory(error) else f"memory: {_where(error)}"
        except (Exception, TooLongError) as error:  # noqa: BLE001  that is what is looked for
            return f"{type(error).__name__}: {_where(error)}"
        return "read"


def _agreeing(files: Files, place: Path) -> Files:
    """Return a release folder whose transcript says that it is of the inputs beside it, where they are a job."""
    from dpopt.algorithms.release_folder import read_job

    if "transcript.jsonl" not in files:
        return files
    path = _written(files, place)
    try:
        with _limited_time():
            fingerprint = read_job(path).fingerprint()
        first, rest = files["transcript.jsonl"].split(b"\n", 1)
        entry = json.loads(first)["entry"]
        return {**files, "transcript.jsonl": _line({**entry, "inputs": fingerprint}) + rest}
    except (Exception, TooLongError):  # noqa: BLE001  the reading that follows meets it again
        return files


def _contents(path: Path) -> Files:
    paths = [path] if path.is_file() else [one for one in path.iterdir() if one.suffix in {".json", ".jsonl"}]
    return {one.name: one.read_bytes() for one in paths if one.name != "release.json"}


def _written(files: Files, place: Path) -> Path:
    for path in place.iterdir():
        path.unlink()
    for name, data in files.items():
        (place / name).write_bytes(data)
    return place


@contextmanager
def _limited_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error is not None


def _where(error: BaseException) -> str:
    """Return the last line of dpopt where an error came by."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/dpopt/" in one.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename.partition('/dpopt/')[2] or Path(last.filename).name}:{last.lineno}: {error}"[:200]


# --- the experiment ------------------------------------------------------------------------------------------------


def work(folder: Path, first: int, last: int) -> None:
    """Try the cases with these numbers; write after each how far they are, and at the end what came out."""
    cases = Cases(folder)
    cases.read_whole()
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    outcomes: Counter[tuple[str, str]] = Counter()
    examples: dict[str, int] = {}
    with tempfile.TemporaryDirectory(dir=folder) as place, (folder / f"at-{first}").open("wb", buffering=0) as at:
        for number in range(first, last):
            os.pwrite(at.fileno(), f"{number:12}".encode(), 0)
            kind = cases.kinds[number % len(cases.kinds)]
            found = cases.outcome(kind, random.Random(number), Path(place))  # noqa: S311  # examples
            outcomes[kind, found if found in {"read", "refused"} else "failed"] += 1
            if found not in {"read", "refused"}:
                examples.setdefault(f"{kind}: {found}", number)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps({"outcomes": [[*key, times] for key, times in outcomes.items()], "failures": examples, "peak": peak})
    )


def run(folder: Path, cases: int, batch: int, processes: int) -> Iterator[Report]:
    """Try this many cases, by processes that try some each; yield after each process what came out so far."""
    outcomes: dict[str, Counter[str]] = {}
    failures: dict[str, int] = {}
    peak, began = 0, time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        parts = (partial(_tried, folder, first, min(first + batch, cases)) for first in range(0, cases, batch))
        for report in pool.map(lambda part: part(), parts):
            for kind, what, times in report["outcomes"]:
                outcomes.setdefault(kind, Counter())[what] += times
            failures = {**report["failures"], **failures}
            peak = max(peak, report["peak"])
            yield {
                "cases": sum(found.total() for found in outcomes.values()),
                "seconds": round(time.monotonic() - began),
                "outcomes": outcomes,
                "failures": failures,
                "peak_bytes": peak,
            }


def _tried(folder: Path, first: int, last: int) -> Report:
    """Return what came out of some cases. One in which the process ends or gets stuck is a failure; the others are tried."""
    words = ("--folder", str(folder), "--cases", str(first), str(last))
    path = os.pathsep.join([*filter(None, sys.path), str(ROOT)])  # it imports what this process imports
    with subprocess.Popen(  # noqa: S603  # this module
        [sys.executable, "-m", "experiments.fuzz", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if _watched(process, folder / f"at-{first}"):
            assert process.stdout is not None
            found: Report = json.loads(process.stdout.read())
            return found
    if process.returncode > 0:
        raise RuntimeError("the cases cannot be tried; see above")
    ended = int((folder / f"at-{first}").read_text(encoding="ascii"))
    parts = [_tried(folder, *part) for part in ((first, ended), (ended + 1, last)) if part[0] < part[1]]
    failures = {f"the process ended with {process.returncode} in case {ended}": ended}
    for part in parts:
        failures |= part["failures"]
    return {
        "outcomes": [["a process that ended", "failed", 1], *(one for part in parts for one in part["outcomes"])],
        "failures": failures,
        "peak": max((part["peak"] for part in parts), default=0),
    }


def _watched(process: subprocess.Popen[str], at: Path) -> bool:
    """Return whether a process ended well; it is killed where it does not come to another case."""
    before, since = "", time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = at.read_text() if at.exists() else ""
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > SILENT:
            process.kill()
    return process.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Make whole files, damage them, read them, and print what came out; return 1 if there is a failure."""
    parser = argparse.ArgumentParser(prog="python -m experiments.fuzz")
    parser.add_argument("--number", type=int, default=1_000_000, help="cases (1,000,000)")
    parser.add_argument("--batch", type=int, default=10_000, help="cases of one process (10,000)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (2)")
    parser.add_argument("--quick", action="store_true", help="a few hundred cases: shows that it still runs")
    parser.add_argument("--folder", type=Path, help="the folder with whole files, if they are there already")
    parser.add_argument(
        "--cases", type=int, nargs=2, help="try the cases from a number to below another, in this process"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--document", type=Path, help="put the table into this document")
    options = parser.parse_args(arguments)
    if options.cases is not None:
        work(options.folder, *options.cases)
        return 0
    with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
        folder = Path(options.folder or place).resolve()
        if options.folder is None:
            make_samples(folder)
        report: Report = {**describe_circumstances(), "runs": 1, "quick": options.quick}
        number = 100 if options.quick else options.number
        for found in run(folder, number, options.batch, options.processes):
            report |= found
            print(f"{found['cases']:,} cases, failures: {found['failures']}", file=sys.stderr, flush=True)
            write_report(options.json, report)
    present(report, markdown(report), options.document)
    return 1 if report["failures"] else 0


def markdown(report: Report) -> Iterator[str]:
    """Yield the table."""
    rows = []
    for kind, found in sorted(report["outcomes"].items()):
        outcomes = [found.get(what, 0) for what in ("read", "refused", "failed")]
        rows.append([kind, *(f"{one:,}" for one in (sum(outcomes), *outcomes))])
    yield from table(["file | cases | read | refused | failed"], rows)
    yield ""
    yield (
        f"{report['cases']:,} cases in {report['seconds']:,} seconds, {len(report['failures'])} failures; no process "
        f"had more than {report['peak_bytes'] / 1e6:,.0f} MB."
    )
    yield from (f"- case {number}: {what}" for what, number in report["failures"].items())


if __name__ == "__main__":
    sys.exit(main())
