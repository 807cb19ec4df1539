"""The committed schemas with rules say what is known of their tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpopt.schema import Schema
from tests.schema.rules.test_compile_rules import circuit_row
from tests.source_code import ROOT

SCHEMAS = ROOT / "experiments" / "schemas"
WITH_RULES = ("adult-rules.json", "nist-acs-rules.json", "tic-tac-toe.json")
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

pytestmark = pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the experiments are not part of this copy")


def end_positions() -> set[str]:
    """Return the boards on which a game can end, found by playing every game."""
    ends: set[str] = set()
    seen = {"b" * 9}
    waiting = ["b" * 9]
    while waiting:
        board = waiting.pop()
        if "b" not in board or any(board[i] == board[j] == board[k] != "b" for i, j, k in LINES):
            ends.add(board)
            continue
        mark = "x" if board.count("x") == board.count("o") else "o"
        for square in range(9):
            after = board[:square] + mark + board[square + 1 :]
            if board[square] == "b" and after not in seen:
                seen.add(after)
                waiting.append(after)
    return ends


def test_the_rules_of_tic_tac_toe_leave_exactly_the_958_boards_on_which_a_game_ends() -> None:
    schema = Schema.read(SCHEMAS / "tic-tac-toe.json")
    sizes = schema.sizes.tolist()
    assert sizes == [3] * 9 + [2]
    records = np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=np.int32)
    legal = records[~schema.circuit().broken(records).any(axis=1)]
    assert len(legal) == 958
    boards = {}
    for record in legal.tolist():
        texts = [attribute.label(code) for attribute, code in zip(schema.attributes, record, strict=True)]
        boards["".join(texts[:9])] = texts[9]
    assert set(boards) == end_positions()
    for board, outcome in boards.items():
        won = any(board[i] == board[j] == board[k] == "x" for i, j, k in LINES)
        assert outcome == ("positive" if won else "negative")


@pytest.mark.parametrize("name", WITH_RULES)
def test_a_committed_schema_is_read_and_written_again(name: str) -> None:
    schema = Schema.read(SCHEMAS / name)
    assert not schema.draft
    assert all(rule.name for rule in schema.rules)
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("name", WITH_RULES)
def test_no_committed_rule_weighs_or_is_said_twice(name: str) -> None:
    circuit = Schema.read(SCHEMAS / name).circuit()
    assert circuit.number_of_weighted_rule() is None
    for rule in range(circuit.number_of_rules):
        alone = circuit.only([rule])
        rows = [circuit_row(alone, gate) for gate in range(len(alone))]
        assert len(rows) == len(set(rows))
