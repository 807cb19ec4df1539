"""The source of dpopt as syntax trees, for the tests that look at code instead of running it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import dpopt

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "dpopt"


@dataclass(frozen=True)
class SourceFile:
    """A file of dpopt.

    Attributes
    ----------
    path : str
        Relative to the folder that holds `dpopt`, for example ``dpopt/schema/schema.py``.
    code : str or None
        What stands in it; None: what is on disk.
    """

    path: str
    code: str | None = None

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree, made where a test asks for it: all trees take seconds, and each worker collects the tests."""
        return parse(ROOT / self.path) if self.code is None else ast.parse(self.code)

    @property
    def room(self) -> str:
        """The room, or "" for the root's own file."""
        parts = self.path.removesuffix(".py").split("/")[1:]
        return "" if parts == ["__init__"] else parts[0]


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Return every file of dpopt, sorted by path."""
    files = sorted(SOURCE.rglob("*.py"))
    return tuple(SourceFile(path.relative_to(ROOT).as_posix()) for path in files)


def copy_kernels(copy: Path, tested: Path = Path(dpopt.__file__).parent) -> None:
    """Give a copy of dpopt the machine code that the tested one has: compiling it once more takes minutes."""
    for kept in tested.rglob("*.nb[ci]"):
        place = copy / kept.relative_to(tested)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, place)


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree; many tests look at those of every file, and walking takes most of their time."""
    return tuple(ast.walk(tree))


def imported_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield the dotted name of everything that some nodes import, with its line.

    ``from scipy import sparse`` yields ``scipy.sparse``; imports for type checkers only are imports too.
    """
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise AssertionError(f"line {node.lineno}: relative imports are not used in dpopt")
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def used_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every dotted name that the file mentions, imports resolved, with its line.

    After ``import numpy as np``, ``np.random.default_rng`` yields ``numpy.random.default_rng``.
    """
    aliases: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                aliases[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    yield from imported_names(nodes(tree))
    for node in nodes(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            name = dotted(node)
            if name is not None:
                first, _, rest = name.partition(".")
                if first in aliases:
                    yield aliases[first] + ("." + rest if rest else ""), node.lineno


def dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` for a chain of names, or None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start = dotted(node.value)
        return None if start is None else f"{start}.{node.attr}"
    return None


def covers(prefix: str, name: str) -> bool:
    """Return whether `name` is `prefix` or lies below it."""
    return name == prefix or name.startswith(prefix + ".")
