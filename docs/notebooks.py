"""`python -m docs.notebooks [PATH ...]`: run the notebooks, all if none is named, and store what their cells show.

Cells run in this process, in a folder that is removed. A cell's output is what it prints, the value of its last line, and the
pictures that are open at its end. Cells with the tag "drawn" contain private draws, which no seed repeats: of what they print
and show, tests compare the words.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted([*ROOT.glob("docs/tutorials/*.ipynb"), *ROOT.glob("models/notebooks/*.ipynb")])
ABOUT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
Cell = dict[str, Any]


def run(path: Path) -> list[list[Cell]]:
    """Run a notebook from its first cell to its last; return the outputs of each cell of code, as they are stored."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, object] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _plots():
        return [_outputs(source, names, f"{path.name}, cell {place}") for place, source in enumerate(sources)]


@contextlib.contextmanager
def _plots() -> Any:
    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg"}):
        yield


def _outputs(source: str, names: dict[str, object], place: str) -> list[Cell]:
    import matplotlib.pyplot as plt
    from PIL import Image  # matplotlib brings it

    body = ast.parse(source).body
    last = body[-1] if isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(ast.Module(body if last is None else body[:-1], []), place, "exec"), names)  # noqa: S102  the cells are this checkout's own
        value = None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)  # noqa: S307
    found: list[Cell] = []
    if said.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(said.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    for number in plt.get_fignums():
        drawn, stream = io.BytesIO(), io.BytesIO()
        plt.figure(number).savefig(drawn, bbox_inches="tight")
        Image.open(drawn).convert("RGB").quantize(128).save(stream, "png", optimize=True)  # a third of the bytes
        picture = {"image/png": base64.b64encode(stream.getvalue()).decode()}
        found.append({"data": picture, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def store(path: Path) -> None:
    """Run a notebook and put the outputs into its file."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = iter(run(path))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": next(outputs)}
        cell["metadata"] = {name: value for name, value in cell["metadata"].items() if name == "tags"}
    notebook["metadata"] = ABOUT
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """Run and store the notebooks that are named."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for path in [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS:
        store(path)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
