"""Noisy sides of halfspaces come from OpenDP's samplers through the curator, and from nowhere else."""

from __future__ import annotations

import ast
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES
from dpopt.synopses.halfspaces.halfspaces import Halfspaces
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from tests.boundary.test_origin import constructions
from tests.exact_halfspace_loss import ROWS, UNIVERSE, points_of, tiny_plan
from tests.private.test_trust import ClaimingNoise
from tests.source_code import source_files
from tests.tiny_runs import ADD_REMOVE

LAWS = {True: "discrete_gaussian", False: "discrete_laplace"}
FILES = {file.path: file for file in source_files()}
DRIVER = "dpopt/synopses/halfspaces/release_halfspaces.py"


def release(noise: Noise | None = None, *, gaussian: bool = False, measured: str = SIDES) -> Halfspaces:
    plan = tiny_plan(ADD_REMOVE, gaussian=gaussian, measured=measured)
    return release_halfspaces(points_of(UNIVERSE[:ROWS]), plan, noise=noise)


def text_of(released: Halfspaces) -> str:
    return json.dumps([released.statement(), [noisy.tolist() for noisy in released.noisy]])


@pytest.mark.parametrize("measured", [SIDES, ARCS])
@pytest.mark.parametrize("gaussian", [False, True])
def test_what_is_released_is_what_opendp_drew_and_nothing_else_is_random(
    gaussian: bool, measured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value once and unchanged; with the same values a run repeats to the last byte."""
    law = LAWS[gaussian]
    original = getattr(OpendpNoise, law)
    drawn: list[NDArray[np.int64]] = []

    def watched(self: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn.append(original(self, counts, scale))
        return drawn[-1]

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("something else than OpenDP was asked for random numbers")

    with monkeypatch.context() as patch:
        patch.setattr(OpendpNoise, law, watched)
        patch.setattr(OpendpNoise, LAWS[not gaussian], refuse)
        for generator in ("os.urandom", "numpy.random.default_rng", "random.random"):
            patch.setattr(generator, refuse)
        first = release(gaussian=gaussian, measured=measured)
        assert [values.tolist() for values in first.noisy] == [values.tolist() for values in drawn]
        assert first.privacy["private"]
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, law, lambda self, counts, scale: next(left))
        again = release(gaussian=gaussian, measured=measured)
        assert next(left, None) is None
    assert text_of(again) == text_of(first)


class OtherNoise(OpendpNoise):
    """A kind of OpenDP's noise, and so perhaps of other noise."""


@pytest.mark.parametrize("noise", [ScriptedNoise([4, 2]), ClaimingNoise([4, 2]), OtherNoise()])
def test_noise_from_anywhere_else_marks_the_release(noise: Noise) -> None:
    privacy = release(noise).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    assert NOT_PRIVATE_DRAWS in [charge["mechanism"] for charge in privacy["charges"]]


def called(tree: ast.Module) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_noisy_sides_are_constructed_where_those_of_tables_are() -> None:
    curator = FILES["dpopt/private/curators/halfspace_curator.py"].tree
    assert constructions(curator) == []
    assert "with_noise" in called(curator)


def test_a_release_is_made_by_its_driver_or_read_from_a_file() -> None:
    """And the curator is held by the driver alone."""
    made = {path for path, file in FILES.items() if "Halfspaces" in called(file.tree)}
    assert made == {DRIVER, "dpopt/synopses/halfspaces/halfspaces.py"}
    held = {path for path, file in FILES.items() if "HalfspaceCurator" in called(file.tree)}
    assert held == {DRIVER}


def test_the_driver_takes_values_out_of_what_was_measured_only() -> None:
    taken = [
        ast.unparse(node.value)
        for node in ast.walk(FILES[DRIVER].tree)
        if isinstance(node, ast.Attribute) and node.attr == "values"
    ]
    assert taken == ["curator.measure(one)"]


def test_nothing_but_driver_and_declarations_names_the_private_side() -> None:
    """Plans take from there what a measurement is; `declared_columns` the names of columns."""
    named = {
        path: {
            alias.name
            for node in ast.walk(file.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpopt.private")
            for alias in node.names
        }
        for path, file in FILES.items()
        if path.startswith("dpopt/synopses/halfspaces/") and path != DRIVER
    }
    columns = named.pop("dpopt/synopses/halfspaces/declared_columns.py")
    assert columns == {"TableReading", "columns_of_array", "open_table"}
    assert {name for names in named.values() for name in names} == {
        "Arcs",
        "HalfspaceMeasurement",
        "NumberOfRecords",
        "Sides",
    }
