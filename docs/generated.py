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


def command_line() -> str:
    """Return the commands of dpopt, each with a sentence, then their options, from the program itself."""
    from dpopt.cli import application, main

    assert callable(main.main)  # importing the module registers the commands
    commands = dict(sorted(_leaves(typer.main.get_command(application.application), "dpopt")))
    rows = [
        f"| [`{words}`](#{words.replace(' ', '-')}) | {_sentence(command)} |" for words, command in commands.items()
    ]
    shown = (line for words, command in commands.items() for line in _options(command, words))
    return "\n".join(["| command | what it does |", "|---|---|", *rows, "", *shown])


def _leaves(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    for name in below:
        yield from _leaves(below[name], f"{words} {name}")
    if not below:
        yield words, command


def _sentence(command: Any) -> str:
    text = " ".join(inspect.cleandoc(command.help).split("\n\n", 1)[0].split())
    return text.partition(". ")[0].rstrip(".").replace("|", r"\|").replace("<", "&lt;")


def _options(command: Any, words: str) -> Iterator[str]:
    context = typer.Context(command, info_name=words)
    yield f"## {words}\n\n{inspect.cleandoc(command.help)}\n"
    yield f"```text\n{' '.join([words, *command.collect_usage_pieces(context)])}\n```\n"
    rows = [_row(parameter, context) for parameter in command.params if not parameter.hidden]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows, ""])


def _row(parameter: Any, context: typer.Context) -> str:
    name, meaning = parameter.get_help_record(context) or (parameter.name, parameter.help or "")
    cells = [" ".join(cell.split()).replace("|", r"\|") for cell in (name, meaning)]
    return f"| `{cells[0]}` | {cells[1].replace('<', '&lt;')} |"


def public_names() -> str:
    """Return directives for what `dpopt` exports: functions first, then classes."""
    functions, classes = [], []
    for name in dir(dpopt):
        value = getattr(dpopt, name)
        if inspect.isclass(value):
            classes.append(f"## {name}\n\n```{{eval-rst}}\n.. autoclass:: dpopt.{name}\n```\n")
        elif callable(value):
            functions.append(f"## {name}\n\n```{{eval-rst}}\n.. autofunction:: dpopt.{name}\n```\n")
    return "\n".join([*functions, *classes])


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
