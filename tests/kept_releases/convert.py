"""What the kept releases and synopses are in today's forms: a function for each form that is another one now."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.algorithms.release_folder import read_job
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN
from dpopt.releases.folder_files import write_json
from dpopt.synopses.any_synopsis import KINDS
from dpopt.transcript.journal import line_of

WORDS = {"moved": "sensitivity", "fill": "density"}


def anywhere(value: Any) -> Any:
    """Return a JSON value of any file."""
    if isinstance(value, list):
        return [anywhere(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        WORDS.get(key, key): (FORMS[key] if key in FORMS and isinstance(part, dict | list) else anywhere)(part)
        for key, part in value.items()
    }


def budget(old: dict[str, Any]) -> dict[str, Any]:
    """Every field of a budget is written, also those that are as usual."""
    usual = {name: part for name, part in old.items() if name != "earlier"}
    return {**usual, "rows_per_person": old.get("rows_per_person"), "earlier": old.get("earlier", [])}


def bins(old: dict[str, Any]) -> dict[str, Any]:
    """The same of bins."""
    return {"labels": None, "edges": None, **old}


def family(old: dict[str, Any]) -> dict[str, Any]:
    """Decision lists are declared by the names of the fields."""
    return {"variables": old["variables"], "length": old["k"], "kind": old["rows"], "changes": old["changes"]}


def points(old: dict[str, Any]) -> dict[str, Any]:
    """So are the columns of points."""
    return {"names" if key == "columns" else key: part for key, part in old.items()}


FORMS: dict[str, Callable[[Any], Any]] = {
    "budget": budget,
    "bins": bins,
    "axes": lambda old: list(map(bins, old)),
    "family": family,
    "points": points,
}


RENAMED = {"ranges": "answers", "range": "query", "point": "query"}


def plan(old: dict[str, Any]) -> dict[str, Any]:
    """Return a plan, alone or at the head of plan.json: the noise is Gaussian or not, and a range says whose it is."""
    new = anywhere(old)
    if "noise" in new:
        new["noise"] = new["noise"] == DISCRETE_GAUSSIAN
    return {{"range": "selection_range", "noise": "gaussian"}.get(key, key): part for key, part in new.items()}


NAMES = {
    "noise": "gaussian",
    "points": "columns",
    "projections": "number",
    "predicted_variances": "predicted",
    "predicted_error": "predicted",
    "predicted_approximation": "approximation",
    "predicted_error_of_direct_counts": "direct",
    "expected_bound": "expected",
    "error_by_the_theorem": "paper",
}
GONE = {"comparisons", "neighbours", "comparisons_of_a_search", "number_of_monomials", "approximation_error"}


def synopsis_plan(old: dict[str, Any]) -> dict[str, Any]:
    """Return the plan of a synopsis: its keys are fields, levels are lists, and what is left out follows from the rest."""
    new = plan(old)
    names = NAMES if "canonical_directions" in old else {**NAMES, "points": "points"}
    new = {names.get(key, key): part for key, part in new.items() if key not in GONE}
    if "canonical_directions" in old:
        new["prediction"] = new.pop("predicted")
    if "levels" in old:
        sides = [level["blocks_of"] for level in new.pop("levels")]
        new["scales"] = [level["scale"] for level in old["levels"]]
        if "shape" in old:
            new["levels"] = [[side.bit_length() - 1 for side in level] for level in sides]
        else:
            new["heights"] = [side.bit_length() - 1 for side in sides]
    if "mass_scale" in old:
        scale = new.pop("mass_scale")
        new |= {"shape": [new.pop("bins")], "mass_scales": [] if scale is None else [scale]}
    if "counted" in old:
        counted = new.pop("counted")
        new["mass_depths"] = [level["after_cuts"] for level in counted]
        new["mass_scales"] = [level["scale"] for level in counted]
    if "family" in old:
        rows, size = new.pop("family"), max(old["sizes"])
        values = np.zeros((rows["length"] + 1, size + 1, size + 1), dtype=np.int64)
        for i, a, b, value in new["coefficients"]:
            values[i, a, b] = value
        new["coefficients"] = {"family": rows, "values": values.tolist(), "bits": -new.pop("unit")}
    return new


def release(old: dict[str, Any]) -> dict[str, Any]:
    """Return the content of release.json."""
    return {**anywhere(old), "plan": plan(old["plan"])}


def entry(old: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of a transcript; every field of what was released is written."""
    found: dict[str, Any] = anywhere(old)
    return found


def answer(old: Any) -> Any:
    """Return what a synopsis answered: intervals call what they answer as the others do."""
    if isinstance(old, dict):
        return {RENAMED.get(key, key): answer(part) for key, part in old.items()}
    return list(map(answer, old)) if isinstance(old, list) else old


def converted(kept: Path, place: Path) -> Path:
    """Return a copy of a release folder in today's forms."""
    new = place / kept.name
    shutil.copytree(kept, new)
    for name, form in (("plan.json", plan), ("release.json", release)):
        write_json(new / name, form(read(new / name)))
    _convert_transcript(new)
    return new


def converted_synopsis(kept: Path, place: Path) -> Path:
    """Return a copy of the file of a synopsis in today's form: an archive of its statement and its noisy numbers."""
    if kept.suffix == ".npz":
        with np.load(kept) as arrays:
            stated = json.loads(arrays["statement"].tobytes())
            noisy = [arrays[name] for name in arrays.files if name != "statement"]
    else:
        stated = read(kept)
        noisy = [stated["noisy"]] if "dpopt_sorted_counts" in stated else stated["noisy"]
    (key,) = KINDS.keys() & stated.keys()
    new = place / f"{kept.stem}.npz"
    plans = {part: synopsis_plan(stated[part]) for part in {"plan", "figures"} & stated.keys()}
    if "length_from_budget" in stated:
        plans = {"gaussian": stated["noise"] == DISCRETE_GAUSSIAN, "noisy_length": stated["length_from_budget"]}
    kind, whole = KINDS[key](), {**anywhere(stated), **plans, "noisy": noisy}
    kind.from_json({name: part for name, part in whole.items() if name in kind.known_keys()}).write(new)
    return new


def read(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _convert_transcript(folder: Path) -> None:
    """The digest of the public inputs is that of the inputs in today's form."""
    path = folder / "transcript.jsonl"
    entries = [entry(json.loads(line)["entry"]) for line in path.read_bytes().splitlines()]
    inputs = read_job(folder).fingerprint()
    entries = [{**one, "inputs": inputs} if "inputs" in one else one for one in entries]
    path.write_bytes(b"".join(map(line_of, entries)))
