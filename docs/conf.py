"""How Sphinx makes one site of the pages in docs, models and experiments: ``python -m docs``.

The source folder is the whole checkout, so that a link is the same path in the site and in a listing of files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import dpopt  # noqa: E402 (the checkout is on the path only now)
from docs import formulas, plain_formulas  # noqa: E402
from docs.generated import GENERATED  # noqa: E402

project = "dpopt"
release = version = dpopt.__version__
author = "the maintainers of dpopt"
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "models/*.md",
    "models/*/README.md",
    "docs/tutorials/*.ipynb",
    "models/notebooks/*.ipynb",
    "experiments/README.md",
    "experiments/*/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["docs/_build"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_design"]

# Markdown. Tests run the notebooks and compare what they print.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_update_mathjax = False  # formulas are MathML, which browsers draw by themselves
html_math_renderer = "mathml"
myst_heading_anchors = 4
smartquotes = False  # it makes one dash of the two of an option
nb_execution_mode = "off"
suppress_warnings = ["misc.highlighting_failure"]  # examples of files are no complete JSON

# Docstrings of NumPy's form. Single backticks name a thing of the package, or are shown as code.
autodoc_default_options = {"members": True}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "py:obj"
toc_object_entries = False

html_theme = "furo"
html_title = "dpopt"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_root"]  # index.html at the top leads to the start page
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_only_copy_prompt_lines = True


def complete(_: Sphinx, docname: str, source: list[str]) -> None:
    """Append to a page what is made when the site is built; mark formulas of models, their labels such as GS-1 on one line."""
    if docname.startswith("models/"):
        source[0] = plain_formulas.with_formulas(source[0])
        label = r'| <span style="white-space: nowrap">\1</span> '
        source[0] = re.sub(r"^\| ([A-Z]{2}-\d+) ", label, source[0], flags=re.MULTILINE)
    if docname.startswith(("models/", "experiments/")) and not docname.startswith("models/notebooks/"):
        source[0] = plain_formulas.with_scripts(source[0])
    if docname in GENERATED:
        source[0] += "\n" + GENERATED[docname]()


def keep_bars(*told: Any) -> None:
    """Let bars of docstrings, as in `|f(s) - p(s)|`, be the bars of formulas: Sphinx takes them for substitutions."""
    lines: list[str] = told[-1]
    lines[:] = [line if line.startswith("    ") else line.replace("|", r"\|") for line in lines]


LONGEST = 36  # characters of code that fit into the line of a telephone


def keep_signs(_: Sphinx, document: nodes.document) -> None:
    """Put a dash between a parameter and its meaning, where Sphinx writes two signs, and break no word of short code."""
    for code in document.findall(nodes.literal):
        if all(len(word) <= LONGEST for word in code.astext().split()):
            code["classes"].append("whole")
    for text in list(document.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Sphinx) -> None:
    """Register the above with Sphinx."""
    formulas.register(app)
    app.connect("doctree-read", keep_signs)
    app.connect("source-read", complete)
    app.connect("autodoc-process-docstring", keep_bars)
