"""Noisy coefficients come from OpenDP's samplers through the curator, and from nowhere else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import ChargeKind
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from tests.boundary.test_conjunction_origin import LAWS, UNTRUSTED, called
from tests.boundary.test_origin import constructions
from tests.exact_sanitizer_loss import FAMILIES, plan_of
from tests.source_code import source_files
from tests.tiny_runs import ADD_REMOVE, dataset_of


def release(noise: Noise | None = None, *, gaussian: bool = False) -> SanitizedPolynomial:
    plan = plan_of(FAMILIES["mixed, sets"], ADD_REMOVE, gaussian=gaussian)
    return release_sanitizer(dataset_of(plan.family.schema, ((0, 1), (1, 1)) * 3), plan, noise=noise)


def text_of(released: SanitizedPolynomial) -> str:
    return json.dumps([released.statement(), released.noisy.tolist()])


@pytest.mark.parametrize("gaussian", [False, True])
def test_what_is_released_is_what_opendp_drew_and_nothing_else_is_random(
    gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value once and unchanged; with the same values a run repeats to the last byte, and with others it does not."""
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
        first = release(gaussian=gaussian)
        assert [first.noisy.tolist()] == [values.tolist() for values in drawn]
        assert first.privacy["private"]
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, law, lambda self, counts, scale: next(left))
        again = release(gaussian=gaussian)
        assert next(left, None) is None
    assert text_of(again) == text_of(first)
    # Noise of some 2^40 units on 15 sums: the same once more with a probability far below 1e-6.
    assert text_of(release(gaussian=gaussian)) != text_of(first)


@pytest.mark.parametrize("source", UNTRUSTED)
def test_noise_from_anywhere_else_marks_the_release(source: str) -> None:
    make: Callable[[], Noise] = UNTRUSTED[source]
    privacy = release(make()).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    marks = [charge for charge in privacy["charges"] if charge["kind"] == ChargeKind.NOT_PRIVATE.value]
    assert [mark["mechanism"] for mark in marks] == [NOT_PRIVATE_DRAWS]


def test_opendps_own_noise_is_trusted_where_it_is_given() -> None:
    privacy = release(OpendpNoise()).privacy
    assert privacy["private"] is True
    assert privacy["epsilon"] == pytest.approx(1.5)


FILES = {file.path: file for file in source_files()}
SANITIZERS = {path: file for path, file in FILES.items() if path.startswith("dpopt/synopses/sanitizers/")}
DRIVER = "dpopt/synopses/sanitizers/release_sanitizer.py"


def test_noisy_coefficients_are_constructed_where_noisy_counts_are() -> None:
    curator = FILES["dpopt/private/curators/sanitizer_curator.py"].tree
    assert constructions(curator) == []
    assert "with_noise" in called(curator)
    assert constructions(FILES["dpopt/private/measurements/sanitizer_sums.py"].tree) == []


def test_a_release_is_made_by_its_driver_or_read_from_a_file_and_exact_sums_by_the_curator_alone() -> None:
    def callers(name: str) -> set[str]:
        return {path for path, file in FILES.items() if name in called(file.tree)}

    assert callers("SanitizedPolynomial") == {DRIVER, "dpopt/synopses/sanitizers/sanitized.py"}
    assert callers("SanitizerCurator") == {DRIVER}
    assert callers("coefficient_sums") == {"dpopt/private/curators/sanitizer_curator.py"}


def test_the_driver_takes_values_out_of_what_was_measured_only() -> None:
    taken = [
        ast.unparse(node.value)
        for node in ast.walk(SANITIZERS[DRIVER].tree)
        if isinstance(node, ast.Attribute) and node.attr == "values"
    ]
    assert taken == ["curator.measure(plan.figures.measurement())"]


def test_nothing_but_driver_and_plan_names_the_private_side() -> None:
    """The plan takes from there what a measurement is and what it is charged for, and no more."""
    named = {
        path: {
            alias.name
            for node in ast.walk(file.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpopt.private")
            for alias in node.names
        }
        for path, file in SANITIZERS.items()
    }
    assert "SanitizerCurator" in named.pop(DRIVER)
    assert {name for names in named.values() for name in names} == {"CoefficientSums", "moved_and_scale"}
