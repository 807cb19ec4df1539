"""Synopses as they were kept once, carried over to the form that is read today: the same statements, numbers and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.synopses.any_synopsis import KINDS

_RENAMED = {"ranges": "answers", "range": "query", "point": "query"}


def carried_file(kept: Path, place: Path) -> Path:
    """Write what a kept file holds as a file of today, and return it."""
    if kept.suffix == ".json":
        stated: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        noisy = stated["noisy"]
        stated["noisy"] = [noisy] if "dpopt_sorted_counts" in stated else noisy
    else:
        with np.load(kept) as arrays:
            stated = json.loads(bytes(arrays["statement"]))
            stated["noisy"] = [arrays[name] for name in arrays.files if name != "statement"]
    (key,) = KINDS.keys() & stated.keys()
    place.mkdir()
    file = place / f"{kept.stem}.npz"
    KINDS[key].from_json(stated).write(file)
    return file


def carried_answer(kept: Any) -> Any:
    """Return what was answered, in the words of today."""
    if isinstance(kept, dict):
        return {_RENAMED.get(key, key): carried_answer(value) for key, value in kept.items()}
    return [carried_answer(value) for value in kept] if isinstance(kept, list) else kept
