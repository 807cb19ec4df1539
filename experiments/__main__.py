"""`python -m experiments`: write what is made from results on file; nothing is measured.

The figures of the papers beside ours go into the documents of the experiments that repeat them. The list of all
experiments with their answers goes into README.md of this folder.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from experiments.documents import cell, with_results
from experiments.papers import EXPERIMENTS, HERE, PART, overview, table

ANSWERS: Mapping[str, Mapping[str, str]] = tomllib.loads((HERE / "answers.toml").read_text(encoding="utf-8"))
OUTPUTS = " --(?:json|document|output) "
QUOTED: Mapping[str, Mapping[str, list[str]]] = tomllib.loads((HERE / "quoted.toml").read_text(encoding="utf-8"))


def answers() -> Iterator[str]:
    """Yield the list of all experiments: question, answer, first picture, date of the last results, command."""
    yield "| question | answer | picture | date | command |"
    yield "|---|---|---|---|---|"
    for name, entry in ANSWERS.items():
        document = HERE / name / "README.md"
        text = document.read_text(encoding="utf-8")
        runs = (HERE / name / "__main__.py").exists()
        command = re.search(rf"python -m experiments\.{name if runs else ''}[^#\n]*", text)
        if runs and command is None:
            raise ValueError(f"{document} shows no command")
        short = "kept figures" if command is None else f"`{re.split(OUTPUTS, command[0])[0].strip()}`"
        answer = _filled(entry["answer"], document)
        picture = re.search(r"\]\(([^)]+\.(?:svg|png))\)", text)
        shown = f"[picture]({name}/{picture[1]})" if picture else ""
        date = max(re.findall(r"\b20\d\d-\d\d-\d\d\b", text))
        yield f"| [{entry['question']}]({name}/README.md) | {answer} | {shown} | {date} | {short} |"


def documents() -> Iterator[tuple[Path, str]]:
    """Yield the documents with what is made from results."""
    for name in EXPERIMENTS:
        document = HERE / name / "README.md"
        yield document, with_results(document, table(name), part=PART)
    yield HERE / "README.md", with_results(HERE / "README.md", [*answers(), "", *overview()])


def main() -> int:
    """Write all of them."""
    for document, text in documents():
        document.write_text(text, encoding="utf-8")
    return 0


def quoted(document: str) -> Iterator[str]:
    """Yield the passages of a document that quote figures, with those figures as results have them now."""
    for name, passages in QUOTED[document].items():
        for passage in passages:
            yield _filled(passage, HERE / name / "README.md")


def _filled(answer: str, document: Path) -> str:
    def figure(found: re.Match[str]) -> str:
        entries, title = found[1].split(": ", 1)
        title, _, rounded = title.partition(" ~ ")
        figure = cell(document, entries.split("|"), title)
        if not rounded:
            return figure
        zero, digits = rounded.split(".")
        text = f"{float(figure.split()[0].replace(',', '')):.{digits}f}"
        return text if zero else text.removeprefix("0")

    return re.sub(r"\{([^{}]+)\}", figure, answer)


if __name__ == "__main__":
    sys.exit(main())
