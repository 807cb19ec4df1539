"""Options that name the instance of a model, and the model built from it: for `dpopt model` and `dpopt compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.models.model import Model

BEST_RESPONSE = "best_response"
BEST_RESPONSES: Mapping[str, tuple[str, str]] = {
    BEST_RESPONSE: ("worked-example", "which record answers weighted queries best: conjunctions"),
    "best_response_parities": ("worked-parities", "the same for parities"),
    "best_response_thresholds": ("worked-thresholds", "the same for thresholds and other clauses"),
    "best_response_with_rules": ("worked-rules", "the same under rules that every record obeys"),
}
"""Pages of best responses: the small example of each, and its decision."""
_OWNERS = dict.fromkeys(("release", "round_number", "instance", "formulation"), tuple(BEST_RESPONSES)) | {
    "histogram": ("tree_consistency",)
}
"""Options of `Source` that are for some models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Options that give the numbers of a model."""

    data: Annotated[
        Path | None,
        "JSON file with the model's arguments by name; best responses: an instance (.toml). Left out: a small example.",
    ] = None
    histogram: Annotated[Path | None, "tree_consistency: file of 'dpopt histogram release --measure blocks'."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Numbers):
    """Options that name the instance of a model."""

    name: Annotated[str, typer.Argument(help="Name of the model; `dpopt model list` lists them.")]
    release: Annotated[Path | None, "Best responses: folder of a DualQuery release; with --round."] = None
    round_number: Annotated[int | None, "--round", "Best responses: the round of the release, from 1."] = None
    instance: Annotated[str | None, "Best responses: name of an instance; `dpopt model list --json` lists them."] = None
    formulation: Annotated[str | None, "Best responses: aggregated, per-literal (default) or clique."] = None


def model_of(source: Source) -> Model:
    """Return the model; raises PlanError for options that do not go together, ProgramError for numbers that make none."""
    from dpopt.models.catalogue import build_model

    for field, owners in _OWNERS.items():
        if getattr(source, field) is not None and source.name not in owners:
            option = "--round" if field == "round_number" else f"--{field}"
            raise PlanError(f"{option} belongs to {owners[0]}; found the model {source.name}")
    sources = ("release", "data", "instance", "histogram")
    given = [f"--{field}" for field in sources if getattr(source, field) is not None]
    if len(given) > 1:
        raise PlanError(f"found {' and '.join(given)}; give one of them")
    if source.name in BEST_RESPONSES:
        model = _response(source)
        if source.name not in {BEST_RESPONSE, model.name}:
            raise PlanError(
                f"this is a {model.name}, not a {source.name}; name it so, or {BEST_RESPONSE}, which takes all"
            )
        return model
    if source.histogram is not None:
        return _of_histogram(source.histogram)
    return build_model(source.name, None if source.data is None else _numbers(source.data))


def _numbers(path: Path) -> dict[str, object]:
    from dpopt.errors import ProgramError
    from dpopt.files.json_files import read_json_object

    return read_json_object(path, "the data of the model", ProgramError)


def _of_histogram(path: Path) -> Model:
    from dpopt.synopses.any_synopsis import read_synopsis
    from dpopt.synopses.histograms.histogram import Histogram

    found = read_synopsis(path)
    if not isinstance(found, Histogram):
        raise PlanError(f"{path} holds a {found.WHAT}; expected a histogram, made by 'dpopt histogram release'")
    return found.model()


def _response(source: Source) -> Model:
    from dpopt.models.best_responses.best_response import best_response
    from dpopt.releases.solver_choice import formulation_named

    formulation = formulation_named(source.formulation or "per-literal")
    if (source.release is None) != (source.round_number is None):
        raise PlanError("--release and --round go together: the folder of a DualQuery release, and a round of it")
    if source.release is not None and source.round_number is not None:
        from dpopt.algorithms.replay import load

        return load(source.release).best_response(source.round_number, formulation)
    from dpopt.comparison.instances import read_instance
    from dpopt.models.catalogue import instances

    file = source.data
    if file is None:
        name = source.instance or BEST_RESPONSES[source.name][0]
        file = instances().get(name)
        if file is None:
            raise PlanError(f"there is no instance {name!r}; `dpopt model list --json` lists them")
    return best_response(read_instance(file).problem, formulation)
