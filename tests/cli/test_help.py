from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import dpopt
from dpopt.algorithms.registry import OPTIONS
from dpopt.cli.application import application
from tests.cli.command_line import call, inputs, refuse, succeed, words

HEAVY = words("cvxpy highspy llvmlite matplotlib numba numpy opendp ortools pandas pulp pyarrow scipy")
GROUPS = {
    "schema": "infer check",
    "budget": "create forget show",
    "model": "list show export solve",
    "bench": "run check",
    **dict.fromkeys(
        words("count degrees grid halfspaces histogram lists sorted summary"), "plan release answer export"
    ),
    "intervals": "plan release answer export from-histogram",
    "prefixes": "plan release grow answer export",
}
"""Groups of commands, and the commands of each."""
COMMANDS = [
    [one]
    for one in words(
        "demo plan release resume replay certify reweight evaluate answer report inspect polynomial studio compare "
        "reproduce solvers"
    )
]
COMMANDS += [[group, name] for group, names in GROUPS.items() for name in words(names)]
WATCHED = """
import json, sys
from dpopt.algorithms.registry import OPTIONS
from dpopt.cli.application import application
import dpopt.cli.main
heavy, commands = map(json.loads, sys.argv[1:])
for words in commands:
    sys.argv = ["dpopt", *words, "--help"]
    try:
        application()
    except SystemExit as end:
        assert end.code == 0, (words, end.code)
print("loaded:", sorted(set(heavy) & set(sys.modules)))
"""


def leaves(command: object, above: list[str]) -> list[list[str]]:
    below: dict[str, object] = getattr(command, "commands", {})
    return [leaf for name in below for leaf in leaves(below[name], [*above, name])] or [above]


def test_the_list_of_commands_here_is_complete() -> None:
    assert sorted(leaves(typer.main.get_command(application), [])) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_explains_itself_and_each_of_its_options(command: list[str]) -> None:
    text = succeed(*command, "--help")
    assert text == succeed(*command, "-h")
    if command in (["plan"], ["release"]):  # each algorithm's options are shown where it is named
        assert text.count(" --") + text.count(" -h") <= 27  # 22 options, some of two names
        text += "".join(succeed(*command, "--algorithm", name, "--help-all") for name in OPTIONS)
    found: object = typer.main.get_command(application)
    for word in command:
        found = found.commands[word]  # type: ignore[attr-defined]
    for parameter in found.params:  # type: ignore[attr-defined]
        assert parameter.help or parameter.name == "help", parameter.name
        for option in parameter.opts:
            assert option in text, option


def test_help_loads_no_heavy_library() -> None:
    """Not even NumPy: seen in the modules of a fresh process, not in its time."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, json.dumps(HEAVY), json.dumps([[], *COMMANDS, ["schema"]])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_the_version_is_shown() -> None:
    assert succeed("--version") == f"dpopt {dpopt.__version__}\n"


@pytest.mark.parametrize("group", [[], ["schema"]])
def test_without_a_command_the_help_is_shown(group: list[str]) -> None:
    result = call(*group)
    assert result.exit_code == 2
    assert "Commands" in result.output


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("frobnicate", "No such command 'frobnicate'"),
        ("release", "Missing argument"),
        ("release people.csv", "Missing option"),
        ("plan --frobnicate", "No such option"),
        ("plan --schema s --workload w --n many", "Invalid value for '--n'"),
        ("evaluate folder table more", "unexpected extra argument"),
    ],
)
def test_a_command_that_is_typed_wrong_is_explained(typed: str, message: str) -> None:
    result = call(*words(typed))
    assert result.exit_code == 2
    assert message.lower() in " ".join(result.stderr.split()).lower()
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["plan", "release"])
def test_help_shows_the_options_of_the_named_algorithm_and_of_no_other(command: str) -> None:
    every = {name for kind in OPTIONS.values() for name in kind.known}

    def shown(*words: str) -> set[str]:
        text = succeed(command, *words, "--help")
        return {name for name in every if f" --{name.replace('_', '-')} " in text}

    assert shown() == set(OPTIONS["auto"].known)
    for named in (["--algorithm", "mwem"], ["--algorithm=mwem"], ["--workload", "w", "--algorithm", "mwem"]):
        assert shown(*named) == set(OPTIONS["mwem"].known)
    assert shown("--algorithm", "projection") == set(OPTIONS["projection"].known)


def test_an_option_of_another_algorithm_is_refused_with_those_that_have_it(tmp_path: Path) -> None:
    table, schema = inputs(tmp_path)
    asked = words("--workload marginals:1 --algorithm mwem --epsilon 1 --delta 1e-09 --smoothing 1")
    message = refuse("release", table, "--schema", schema, *asked, "-o", tmp_path / "out")
    assert "--smoothing is an option of projection, and not of mwem" in message


def test_panels_name_what_they_hold() -> None:
    assert "--person" in (text := succeed("release", "--help"))
    assert "--rows-per-person" in text
    assert "dualQuery" not in succeed("plan", "--help")
    assert "DualQuery by its paper" in succeed("plan", "--help")
    assert "DualQuery" not in succeed("histogram", "answer", "--help")
