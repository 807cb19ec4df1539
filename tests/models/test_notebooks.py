"""The notebooks of the catalogue run, and say and show what is kept in them.

What a cell prints is compared letter by letter, what it draws as a small picture in grey: fonts may differ, curves may not.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.models.catalogue import MODELS

NOTEBOOKS = sorted((MODELS / "notebooks").glob("*.ipynb"))
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def outputs(path: Path) -> list[tuple[str, list[bytes]]]:
    """Return the text that each cell of code printed, and its pictures."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = []
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        texts = ["".join(one.get("text", "")) for one in cell["outputs"]]
        pictures = [one["data"]["image/png"] for one in cell["outputs"] if "image/png" in one.get("data", {})]
        found.append(("".join(texts), [base64.b64decode("".join(one)) for one in pictures]))
    return found


def small(picture: bytes) -> NDArray[np.float64]:
    """Return a picture of 48 by 24 points in grey, from 0 to 1."""
    from matplotlib.image import imread

    grey = imread(io.BytesIO(picture))[..., :3].mean(axis=2)
    return np.array(
        [[part.mean() for part in np.array_split(row, 48, axis=1)] for row in np.array_split(grey, 24)]
    )


def test_there_are_notebooks_and_the_catalogue_lists_them() -> None:
    text = (MODELS / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 4
    assert [path.name for path in NOTEBOOKS if f"(notebooks/{path.name})" not in text] == []


@pytest.mark.slow
@pytest.mark.solver("cbc")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_and_shows_what_is_kept_in_it(notebook: Path, tmp_path: Path) -> None:
    again = tmp_path / notebook.name
    command: list[Any] = [sys.executable, "-c", RUN, notebook, again]
    done = subprocess.run(command, cwd=notebook.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    kept, made = outputs(notebook), outputs(again)
    assert [text for text, _ in made] == [text for text, _ in kept]
    assert any(pictures for _, pictures in kept)
    for (_, before), (_, after) in zip(kept, made, strict=True):
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            assert np.abs(small(one) - small(other)).mean() < 0.02
