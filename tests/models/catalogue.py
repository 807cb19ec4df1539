"""The catalogue of models, for tests: scripts beside its pages, instances, and the best of all records."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from dpopt.comparison.instances import Instance, read_instance
from dpopt.models import Formulation, max_csp_as_mip
from dpopt.programs import MaxCsp, MixedIntegerProgram
from tests.source_code import ROOT

MODELS = ROOT / "models"


def instance_files() -> list[Path]:
    """Return the .toml files of all instances, by name."""
    return sorted(MODELS.glob("*/instances/*.toml"), key=lambda path: path.stem)


@cache
def small_instances(page: str = "*") -> list[Instance]:
    """Return the instances of a page (of all pages) that are stated by hand, small enough to enumerate."""
    found = [read_instance(path) for path in instance_files() if path.match(f"models/{page}/instances/*.toml")]
    return [instance for instance in found if "family" not in instance.stated]


def formulation_of(instance: Instance) -> Formulation:
    """Return the formulation that an instance names."""
    return Formulation(instance.stated["formulation"])


def program_of(instance: Instance) -> MixedIntegerProgram:
    """Return the mixed-integer program of an instance."""
    return max_csp_as_mip(instance.problem, formulation_of(instance))


def load_script(path: Path) -> ModuleType:
    """Import a script of the catalogue, which is no package; scripts in models/ import each other by their bare names."""
    if str(MODELS) not in sys.path:
        sys.path.append(str(MODELS))
    name = path.stem if path.parent == MODELS else f"models_{path.stem}"
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


def obeying_records(program: MaxCsp) -> NDArray[np.int32]:
    """Return every record that obeys the rules, (r, d)."""
    records = all_records(program.sizes)
    if not program.rules.number_of_rules:
        return records
    return records[~program.rules.broken(records).any(axis=1)]


def enumerated_optimum(program: MaxCsp) -> int:
    """Return the largest objective of all records that obey the rules."""
    return max(program.objective(record) for record in obeying_records(program))


def worked(page: str) -> str:
    """Return the worked example of a page."""
    text = (MODELS / page / "README.md").read_text(encoding="utf-8")
    return text.partition("## Worked example")[2].partition("## Code")[0]
