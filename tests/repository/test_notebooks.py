"""Notebooks run, and say and show what is kept in them; `python -m docs.notebooks` keeps it.

What a cell prints is compared letter by letter, or by its words where private draws are in it. What it draws is compared
as a small picture in grey: fonts may differ, curves may not.
"""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from docs.notebooks import NOTEBOOKS, ROOT, run

LARGEST = 150_000  # bytes


def texts(outputs: list[dict[str, Any]], *, drawn: bool) -> str | set[str]:
    """Return what a cell printed, and its value as text and as HTML; the words without HTML where draws are in it."""
    found = []
    for one in outputs:
        data = one.get("data", {})
        found += [*one.get("text", []), *data.get("text/plain", []), *([] if drawn else data.get("text/html", []))]
    text = "".join(found)
    return set(re.findall("[A-Za-z]{3,}", text)) if drawn else text


def pictures(outputs: list[dict[str, Any]]) -> list[NDArray[np.float64]]:
    """Return the pictures of a cell as 48 by 24 points in grey, from 0 to 1."""
    from matplotlib.image import imread

    found = []
    for one in outputs:
        if "image/png" in one.get("data", {}):
            grey = imread(io.BytesIO(base64.b64decode(one["data"]["image/png"])))[..., :3].mean(axis=2)
            parts = [np.array_split(row, 48, axis=1) for row in np.array_split(grey, 24)]
            found.append(np.array([[part.mean() for part in row] for row in parts]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_and_shows_what_is_kept_in_it(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    kept = [cell for cell in cells if cell["cell_type"] == "code"]
    assert notebook.stat().st_size < LARGEST
    assert any(pictures(cell["outputs"]) for cell in kept)
    for cell, made in zip(kept, run(notebook), strict=True):
        drawn = "drawn" in cell["metadata"].get("tags", [])
        assert texts(made, drawn=drawn) == texts(cell["outputs"], drawn=drawn)
        for one, other in zip(pictures(cell["outputs"]), pictures(made), strict=True):
            assert np.abs(one - other).mean() < (0.06 if drawn else 0.02)


def test_the_pages_beside_the_notebooks_list_them() -> None:
    for notebook in NOTEBOOKS:
        beside = notebook.parent / "index.md"
        page = beside if beside.exists() else notebook.parents[1] / "README.md"
        assert notebook.stem in page.read_text(encoding="utf-8"), notebook.relative_to(ROOT)
