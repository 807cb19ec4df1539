"""The catalogue of models, for tests: scripts beside its pages, instances, and the sum over all records."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.formulations import Formulation
from dpopt.programs import MaxCsp, MixedIntegerProgram
from tests.source_code import ROOT

MODELS = ROOT / "models"


class Instance(Protocol):
    """What a script `write_instances.py` reads from a .toml file."""

    name: str
    optimum: int
    tolerance: float
    formulation: Formulation
    fingerprint: str
    mip_fingerprint: str
    sizes: list[int]
    clauses: list[tuple[int, list[tuple[int, str, int]], bool]]

    def problem(self) -> MaxCsp:
        """Return the instance as a MaxCsp."""

    def mip(self) -> MixedIntegerProgram:
        """Return the instance as the program of its page."""

    def mps_path(self) -> Path:
        """Return where the .mps file is."""

    def mps(self) -> bytes:
        """Return what the .mps file must hold."""


def load_script(path: Path) -> ModuleType:
    """Import a script of the catalogue, which is no package."""
    name = f"models_{path.stem}"
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
    return sys.modules[name]


def all_records(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return every record over domains of these sizes, (r, d)."""
    return np.array(list(itertools.product(*map(range, sizes.tolist()))), dtype=np.int32)


def enumerated_optimum(program: MaxCsp) -> int:
    """Return the largest objective of all records."""
    return max(program.objective(record) for record in all_records(program.sizes))
