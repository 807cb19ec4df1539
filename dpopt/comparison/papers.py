"""`dpopt.reproduce`: figures, tables and theorems of five papers, repeated by the experiments that come with the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dpopt.errors import PlanError
from dpopt.releases.folder_files import check_empty

_NO_RESULT = 2  # of an experiment: a name or tables are missing, and it has printed which


def _experiments() -> Path:
    """Return the folder that holds the folder `experiments`: in the installed package, or the checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "papers", package.parent):
        if (folder / "experiments" / "reproduce.py").is_file():
            return folder
    raise PlanError(
        f"the experiments are neither in {package} nor beside it; install dpopt from its wheel or a checkout"
    )


def reproduce(name: str | None = None, *, full: bool = False, out: str | os.PathLike[str] | None = None) -> str:
    """Repeat a figure, a table or a theorem of a paper: the paper's figures, ours on file, and ours measured now.

    Parameters
    ----------
    name : str, optional
        Paper and place, such as "dualquery:figure3"; if left out, all names are listed.
    full : bool
        Measure on the paper's tables, which are looked for in the folder that the environment variable DPOPT_DATA names;
        hours for some. Else a quick run on tiny made-up data shows that the experiment still runs.
    out : path, optional
        New or empty folder for README.md, results.json and pictures.

    Returns
    -------
    str
        Tables, as Markdown.

    Raises
    ------
    PlanError
        If nothing has this name, a table is missing, or the experiment breaks off.

    Examples
    --------
    >>> import dpopt
    >>> "| dualquery:figure3 |" in dpopt.reproduce()
    True
    """
    command = [sys.executable, "-P", "-m", "experiments.reproduce", *([] if name is None else ["--", name])]
    command[4:4] = ["--full"] if full else []
    if out is not None:
        check_empty(Path(out))
        command[4:4] = ["--out", os.path.abspath(out)]  # noqa: PTH100  # no link is followed
    path = os.pathsep.join([str(_experiments()), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(  # noqa: S603  # our own interpreter and module; progress goes on to the terminal
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=False, encoding="utf-8"
    )
    text = done.stdout.strip()
    if done.returncode == _NO_RESULT:
        raise PlanError(text)
    if not text:
        raise PlanError(f"the experiment broke off with exit code {done.returncode}; what it printed says why")
    return text
