"""Messages name options as their reader does: as the shell, or as keywords of Python."""

from __future__ import annotations

import pytest

import dpopt
from dpopt.errors import FIELDS, DpoptError, PlanError, named_as_in
from tests.cli.command_line import refuse

MESSAGES = {
    "give --delta 1e-6, or --rho": "give delta=1e-6, or rho=",
    "--no-predict leaves them out": "predict=False leaves them out",
    "use --on-invalid other or drop": "use on_invalid='other' or drop",
    "--person NAME names a column": "person=NAME names a column",
    "a minus: -- and a range 3--4": "a minus: -- and a range 3--4",
    "leave --rows-per-person out": "leave rows_per_person= out",
}


@pytest.mark.parametrize(("shell", "python"), MESSAGES.items())
def test_a_message_names_options_as_its_reader_does(shell: str, python: str) -> None:
    error = DpoptError(shell)
    assert str(error) == python
    with named_as_in("shell"):
        assert str(error) == shell
    assert str(error) == python


IN_STUDIO = {
    "--on-invalid clip counts those": f"'clip' in the field '{FIELDS['on_invalid']}' counts those",
    "use --person NAME and --rows-per-person K": "use the field 'The column that names a person' and the field 'The most rows",
    "take --n0 10,000": f"take '10,000' in the field '{FIELDS['n0']}'",
    "declare --decimal": "declare 'decimal=' (in Python or a shell, not in the studio)",
    "use --no-predict": "use 'predict=False' (in Python or a shell, not in the studio)",
}


@pytest.mark.parametrize(("shell", "studio"), IN_STUDIO.items())
def test_the_studio_names_its_fields(shell: str, studio: str) -> None:
    with named_as_in("studio"):
        assert str(DpoptError(shell)).startswith(studio)
    assert str(DpoptError(shell)) != str(shell)


def test_both_doors_name_the_options_that_they_have() -> None:
    with pytest.raises(PlanError, match="epsilon= .with delta="):
        dpopt.release("people.csv", dpopt.Schema.binary(3), "marginals:1")
    refused = refuse("release people.csv --binary-columns 3 --workload marginals:1 --out out")
    assert "--epsilon (with --delta" in " ".join(refused.split())
