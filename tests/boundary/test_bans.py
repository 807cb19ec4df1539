"""What only one place may touch: randomness, pickle, imports by text, heavy libraries, the records' own room.

The linter says so at once (TID251, TID253); these tests say it file by file, so that an exception made for one name in a
file does not open the file to the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from tests.source_code import SourceFile, covers, imported_names, nodes, source_files, used_names

FILES = source_files()

# What is banned -> the files where it may stand.
BANS: dict[str, tuple[str, ...]] = {
    "random": (),
    "numpy.random": ("dpopt/private/mechanisms/randomness.py", "dpopt/public_random.py"),
    "secrets": ("dpopt/private/mechanisms/randomness.py", "dpopt/studio/*.py"),  # tokens of pages are no private draws
    "os.urandom": ("dpopt/private/mechanisms/randomness.py",),
    "os.getrandom": ("dpopt/private/mechanisms/randomness.py",),
    "opendp": ("dpopt/private/mechanisms/*.py",),
    "importlib.import_module": ("dpopt/__init__.py", "dpopt/solvers/registry.py"),
    "pkgutil.resolve_name": (),
    "importlib": ("dpopt/__init__.py", "dpopt/solvers/*.py"),
    "pickle": ("dpopt/solvers/*child*.py",),
    "marshal": (),
    "shelve": (),
    "dill": (),
    "cloudpickle": (),
    "joblib": (),
    # Files are read where their sizes, nesting, keys and numbers are checked.
    "json.load": (),
    "json.loads": ("dpopt/files/json_files.py", "dpopt/transcript/journal.py", "dpopt/solvers/pulp_other.py"),
    "numpy.load": (),
    "scipy.io": (),
    "tomllib": ("dpopt/comparison/instances.py",),
    "zipfile": (
        "dpopt/files/array_files.py",
        "dpopt/files/reading.py",
        "dpopt/compilation.py",
        "dpopt/releases/wide_output.py",
        "dpopt/studio/application.py",
    ),
    # Files come to be in one place, which knows the umask and what is the owner's alone; folders in it are no files of users.
    "os.open": ("dpopt/files/written_files.py", "dpopt/transcript/*.py", "dpopt/solvers/*.py"),
    "os.fchmod": ("dpopt/files/written_files.py",),
    "os.chmod": (),
    "os.umask": (),
    "shutil.copy": (),
    "shutil.copyfile": (),
    "tempfile": (
        "dpopt/files/written_files.py",
        "dpopt/cli/commands/demo.py",
        "dpopt/private/engines/dask_workers.py",  # locks of Dask's workers, which hold no data
        "dpopt/solvers/*.py",
        "dpopt/studio/application.py",
    ),
    # Records are at hand wherever a cluster is: one file reaches it.
    "cryptography": ("dpopt/private/engines/dask_workers.py",),
    "dask": ("dpopt/private/engines/dask_workers.py",),
    "distributed": ("dpopt/private/engines/dask_workers.py",),
}

# Loaded inside functions only, except in files that are themselves loaded inside functions.
HEAVY: dict[str, tuple[str, ...]] = {
    "cryptography": (),
    "cvxpy": (),
    "dask": (),
    "distributed": (),
    "gurobipy": (),
    "highspy": (),
    "jinja2": (),
    "llvmlite": ("dpopt/compilation.py", "dpopt/queries/counting/compiled.py", "*kernels.py"),
    "matplotlib": (),
    "numba": ("dpopt/compilation.py", "dpopt/queries/counting/compiled.py", "*kernels.py"),
    "opendp": (),
    "openpyxl": (),
    "ortools": (),
    "pandas": (),
    "pulp": (),
    "pyarrow": (),
    "pyreadstat": (),
    "pysat": (),
    "rich": ("dpopt/cli/*.py",),
    "scipy.optimize": (),
    "scipy.stats": (),
    "sklearn": (),
    "typer": ("dpopt/cli/*.py",),
}

ROOMS_WITH_THE_CURATOR = {"private", "releases", "algorithms", "synopses", "cli"}


def offences(file: SourceFile) -> list[str]:
    """Return the banned names that a file uses."""
    return [
        f"{file.path}:{line}: {name}"
        for name, line in used_names(file.tree)
        for banned, places in BANS.items()
        if covers(banned, name) and not any(fnmatch(file.path, place) for place in places)
    ]


def heavy_imports(file: SourceFile) -> list[str]:
    """Return the heavy libraries that a file loads as soon as it is imported."""
    return [
        f"{file.path}:{line}: {name}"
        for name, line in imported_names(_outside_functions(file.tree))
        for heavy, places in HEAVY.items()
        if covers(heavy, name) and not any(fnmatch(file.path, place) for place in places)
    ]


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are run when a module is imported."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    if isinstance(node, ast.Module | ast.stmt | ast.excepthandler | ast.match_case):  # expressions import nothing
        for inner in ast.iter_child_nodes(node):
            yield from _outside_functions(inner)


def test_banned_names_stand_only_in_their_places() -> None:
    assert [offence for file in FILES for offence in offences(file)] == []


def test_whole_files_are_read_by_the_strict_reader_only() -> None:
    """But for what the system and solvers write, own source code, a private table, and files of the same process."""
    places = (
        "dpopt/files/reading.py", "dpopt/compilation.py", "dpopt/solvers/*.py", "dpopt/algorithms/memory.py",
        "dpopt/machine.py", "dpopt/studio/tables.py", "dpopt/transcript/journal.py", "dpopt/cli/commands/demo.py",
    )  # fmt: skip
    called = [
        f"{file.path}:{node.lineno}"
        for file in FILES
        for node in nodes(file.tree)
        if isinstance(node, ast.Attribute) and node.attr in {"read_text", "read_bytes"}
        if not any(fnmatch(file.path, place) for place in places)
    ]
    assert called == []


def test_heavy_libraries_are_loaded_inside_functions() -> None:
    assert [heavy for file in FILES for heavy in heavy_imports(file)] == []


def test_only_drivers_and_the_command_line_import_the_private_room() -> None:
    outside = [file for file in FILES if file.room not in ROOMS_WITH_THE_CURATOR and file.room]
    imports = [
        file.path for file in outside for name, _ in imported_names(nodes(file.tree)) if covers("dpopt.private", name)
    ]
    texts = [
        file.path
        for file in outside
        for node in nodes(file.tree)
        if isinstance(node, ast.Constant) and str(node.value).startswith("dpopt.private.")
    ]
    assert (imports, texts) == ([], [])


# Methods and calls that make a file by its path -> the files where they may stand.
MAKES_FILES: dict[str, tuple[str, ...]] = {
    "write_text": ("dpopt/solvers/pulp_cbc.py",),  # a public program's start; a child's own folder
    "write_bytes": ("dpopt/programs/mps.py",),  # a public program; a child's own folder
    "touch": (),
    "chmod": (),
    "open": (
        "dpopt/releases/wide_output.py",
        "dpopt/solvers/process/child_process.py",
    ),  # in an archive; in its own folder
}


def made_files(file: SourceFile) -> list[str]:
    """Return the calls of a file that make files by their path."""
    return [
        f"{file.path}:{node.lineno}: {ast.unparse(node)}"
        for node in nodes(file.tree)
        if isinstance(node, ast.Call)
        for name in [ast.unparse(node.func).split(".")[-1]]
        if name in MAKES_FILES and not any(fnmatch(file.path, place) for place in MAKES_FILES[name])
        if name != "open" or any(_writes(argument) for argument in _modes(node))
    ]


def _modes(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]


def _writes(argument: ast.expr) -> bool:
    text = argument.value if isinstance(argument, ast.Constant) else None
    return isinstance(text, str) and re.fullmatch("[rwaxbt+]{1,3}", text) is not None and not text.startswith("r")


def test_files_come_to_be_in_one_place() -> None:
    assert [made for file in FILES for made in made_files(file)] == []


@pytest.mark.parametrize(
    "code", ["open(p, 'w')", "p.open(mode='ab')", "Path(p).open('x')", "p.parent.write_text('x')", "p.chmod(0o644)"]
)
def test_a_file_that_is_made_is_found_however_it_is_written(code: str) -> None:
    assert made_files(SourceFile("dpopt/cli/example.py", code))
    assert not made_files(SourceFile("dpopt/cli/example.py", "open(p)\np.open('rb')"))


def test_code_made_of_text_is_not_used() -> None:
    called = {
        f"{file.path}: {node.func.id}"
        for file in FILES
        for node in nodes(file.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in {"eval", "exec", "compile", "__import__"}
    }
    assert called == set()


def test_nobody_outside_reaches_into_the_curator() -> None:
    reached = [
        f"{file.path}:{node.lineno}: {ast.unparse(node)}"
        for file in FILES
        if file.room != "private"
        for node in nodes(file.tree)
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)
        if ast.unparse(node.value).split(".")[-1].strip("_") in {"curator", "dataset", "private_dataset"}
    ]
    assert reached == []


@pytest.mark.parametrize(
    "code",
    [
        "import random", "def f():\n    from random import choice", "import numpy as np\nnp.random.default_rng(1)",
        "from numpy import random as r", "import numpy.random", "import os\nos.urandom(8)",
        "from os import urandom", "import secrets as s", "from importlib import import_module", "import pickle",
    ],
)  # fmt: skip
def test_a_banned_name_is_found_however_it_is_written(code: str) -> None:
    assert offences(SourceFile("dpopt/algorithms/example.py", code))


def test_a_heavy_import_is_found_outside_functions_only() -> None:
    outside = "try:\n    import pandas\nexcept ImportError:\n    pass"
    inside = "def f():\n    import pandas"
    assert heavy_imports(SourceFile("dpopt/private/example.py", outside))
    assert not heavy_imports(SourceFile("dpopt/private/example.py", inside))
