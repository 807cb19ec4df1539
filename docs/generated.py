"""What is appended to pages of the site when it is built: lists of pages, the command line, the public names of dpopt."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

import dpopt


def children(*patterns: str) -> Callable[[], str]:
    """Return a maker of a hidden table of contents: the pages below this one."""
    lines = ["```{toctree}", ":hidden:", ":glob:", "", *patterns, "```", ""]
    return lambda: "\n".join(lines)


def commands_and_aims() -> str:
    """Return the README's first commands and what is special, with links from a page of docs."""
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    shown = text[text.index("## For owners") : text.index("## Where to read on")]
    return re.sub(r"\]\((?!https?:)", "](../", shown)


COMMANDS = {
    "Release records": ("release", "plan", "evaluate", "answer", "report", "schema", "demo", "studio"),
    "After a release": ("inspect", "resume", "replay", "reweight", "budget"),
    "Answers without records": (),
    "Optimization": ("certify", "compare", "model", "solvers", "bench", "polynomial", "reproduce"),
}
"""Parts of the reference of commands, the most used first; a command that no part names releases answers alone."""
PYTHON: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Release records": (
        ("release", "plan", "evaluate", "answer", "report", "Synthesizer", "SyntheticRelease", "Planned"),
        ("algorithms", "reports"),
    ),
    "Tables, schemas and questions": (("infer_schema", "read_table", "Schema"), ("private", "schema", "queries")),
    "Answers without records": (("histogram", "grid", "summary", "read_synopsis"), ("synopses",)),
    "Algorithms": (("Auto", "Projection", "DualQuery", "FEM", "MWEM", "PMW", "SmallDatabase", "Noise"), ()),
    "Optimization": (("certify", "compare", "sweep", "compare_releases", "reweight_release"), ("comparison",)),
    "Budgets and errors": (("Budget", "BudgetLedger"), ("accounting", "transcript", "errors")),
}
"""Parts of the reference of Python: the names that come first, and the rooms of dpopt whose other names follow."""


def command_line() -> str:
    """Return the commands of dpopt in parts, each with a sentence, then their options, from the program itself."""
    from dpopt.cli import application, main

    assert callable(main.main)  # importing the module registers the commands
    commands = dict(_leaves(typer.main.get_command(application.application), "dpopt"))
    named = {name: part for part, names in COMMANDS.items() for name in names}
    order = [*named, *(name for name in application.ORDER if name not in named)]
    parts: dict[str, list[str]] = {part: [] for part in COMMANDS}
    for words in sorted(commands, key=lambda words: order.index(words.split()[1])):
        parts[named.get(words.split()[1], "Answers without records")].append(words)
    firsts = {
        part: {words.split()[1]: words.replace(" ", "-") for words in chosen[::-1]} for part, chosen in parts.items()
    }
    lines = _contents({part: dict(reversed(groups.items())) for part, groups in firsts.items()})
    for part, chosen in parts.items():
        rows = [f"| [`{words}`](#{words.replace(' ', '-')}) | {_sentence(commands[words])} |" for words in chosen]
        lines += [f"\n## {part}\n", "| command | what it does |", "|---|---|", *rows, ""]
        lines += [line for words in chosen for line in _options(commands[words], words)]
    return "\n".join(lines)


def _contents(parts: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for each part of a page with links to its entries."""
    return [
        f"- [{part}](#{re.sub('[^a-z ]', '', part.lower()).replace(' ', '-')}): "
        + ", ".join(f"[`{entry}`](#{anchor})" for entry, anchor in entries.items())
        for part, entries in parts.items()
    ]


def _leaves(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    for name in below:
        yield from _leaves(below[name], f"{words} {name}")
    if not below:
        yield words, command


def _sentence(command: Any) -> str:
    text = " ".join(inspect.cleandoc(command.help).split("\n\n", 1)[0].split())
    return meaning(text.partition(". ")[0].rstrip("."))


def _options(command: Any, words: str) -> Iterator[str]:
    """Yield the section of a command: its help, its usage, and tables of its options, those that are seldom needed last."""
    context = typer.Context(command, info_name=words)
    yield f"### {words}\n\n{inspect.cleandoc(command.help)}\n"
    yield f"```text\n{' '.join([words, *command.collect_usage_pieces(context)])}\n```\n"
    for panel, parameters in _panels(command).items():
        if panel:
            yield f"*{panel}*\n"
        yield "\n".join(["| option | meaning |", "|---|---|", *(_row(one, context) for one in parameters), ""])


def _panels(command: Any) -> dict[str, list[Any]]:
    """Return the parameters of a command by panel: those of no panel, of algorithms, and of panels of the help."""
    from dpopt.algorithms.registry import OPTIONS
    from dpopt.cli.application import PANELS

    names = {parameter.name for parameter in command.params}
    known = {name for kind in OPTIONS.values() for name in kind.known} if "algorithm" in names else set[str]()
    found: dict[str, list[Any]] = {title: [] for title in ("", "Options of algorithms", "Solver", *PANELS)}
    for parameter in command.params:
        panel = getattr(parameter, "rich_help_panel", None)
        title = "Options of algorithms" if parameter.name in known and panel is None else panel or ""
        if not parameter.hidden:
            found.setdefault(title, []).append(parameter)
    return {title: parameters for title, parameters in found.items() if parameters}


def _row(parameter: Any, context: typer.Context) -> str:
    name, text = parameter.get_help_record(context) or (parameter.name, parameter.help or "")
    shown = " ".join(name.split()).replace("|", r"\|")
    return f"| `{shown}` | {meaning(' '.join(text.split()))} |"


def meaning(text: str) -> str:
    """Return a text as Markdown of a cell, with commands and options as code."""
    plain = re.sub(r"([|*_$])", r"\\\1", text.replace("<", "&lt;"))
    code = re.compile(r"(?<![`\w-])(--?[a-z][a-z0-9-]*)(?![`\w-])|'(dpopt [^']*)'")
    return "".join(
        part if place % 2 else code.sub(lambda found: f"`{found[1] or found[2]}`", part)
        for place, part in enumerate(re.split(r"(`[^`]*`)", plain))
    )


def public_names() -> str:
    """Return directives for what `dpopt` exports, in parts: named entries first, then functions, then classes."""
    values = {name: getattr(dpopt, name) for name in dir(dpopt)}
    values = {name: value for name, value in values.items() if callable(value)}
    first = {name for names, _ in PYTHON.values() for name in names}
    parts: dict[str, list[str]] = {}
    for part, (entries, rooms) in PYTHON.items():
        others = [n for n in values if n not in first and values[n].__module__.split(".")[1] in rooms]
        parts[part] = [*entries, *sorted(others, key=lambda name: (inspect.isclass(values[name]), name))]
    lines = _contents({part: {name: f"dpopt.{name}" for name in names} for part, names in parts.items()})
    for part, names in parts.items():
        lines.append(f"\n## {part}\n")
        for name in names:
            kind = "class" if inspect.isclass(values[name]) else "function"
            lines.append(f"### {name}\n\n```{{eval-rst}}\n.. auto{kind}:: dpopt.{name}\n```\n")
    return "\n".join(lines)


def names_of_modules() -> str:
    """Return directives for what the public modules export, module by module."""
    lines = []
    for module in (getattr(dpopt, name) for name in dir(dpopt)):
        if inspect.ismodule(module):
            lines.append(f"## {module.__name__}\n")
            for name, value in sorted(vars(module).items()):
                kind = "class" if inspect.isclass(value) else "function" if inspect.isfunction(value) else None
                if kind is not None:  # constants and types that stand for others have no page
                    lines.append(f"```{{eval-rst}}\n.. auto{kind}:: {module.__name__}.{name}\n```\n")
    return "\n".join(lines)


GENERATED: dict[str, Callable[[], str]] = {
    "docs/index": commands_and_aims,
    "docs/reference/command-line": command_line,
    "docs/reference/modules": names_of_modules,
    "docs/reference/python": public_names,
    "experiments/README": children("*/README"),
    "models/README": children("*/README", "notebooks/*", "INSTANCES"),
}
