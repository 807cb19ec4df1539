"""The rules of the tables once more, in plain pandas on the decoded file: they share nothing with dpopt's own rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def violations(name: str, file: Path) -> int:
    """Return how many rows of a decoded CSV file break at least one rule of the table of this name."""
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    return int(_CHECKS[name](frame).sum())


def _nist(frame: pd.DataFrame) -> pd.Series[bool]:
    age = frame["AGEP"].astype(int)

    def missing(column: str) -> pd.Series[bool]:
        return frame[column] == "N"

    bad = age.lt(0)
    for column in ("MSP", "PINCP", "PINCP_DECILE"):
        bad |= (age < 15) != missing(column)
    bad |= (age < 3) != missing("EDU")
    for column in ("DPHY", "DREM"):
        bad |= (age < 5) != missing(column)
    bad |= (age < 17) & ~missing("DVET")
    bad |= (age < 16) & ~missing("INDP")
    bad |= frame["HOUSING_TYPE"].isin(["2", "3"]) != (frame["OWN_RENT"] == "0")
    given = ~missing("NPF") & ~missing("NOC")
    number = frame[["NPF", "NOC"]].replace("N", "0").astype(int)
    bad |= given & (number["NPF"] <= number["NOC"])
    for one, other in (("INDP", "INDP_CAT"), ("PUMA", "DENSITY"), ("DENSITY", "PUMA")):
        bad |= _differs_from_table(frame, one, other)
    return bad


def _differs_from_table(frame: pd.DataFrame, one: str, other: str) -> pd.Series[bool]:
    """Return where `other` is not what most records of the same `one` have; determination makes this exact."""
    usual = frame.groupby(one)[other].agg(lambda values: values.mode().iloc[0])
    return frame[other] != frame[one].map(usual)


def _adult(frame: pd.DataFrame) -> pd.Series[bool]:
    married = frame["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    spouse = frame["relationship"].isin(["Husband", "Wife"])
    bad = spouse & ~married
    bad |= (frame["relationship"] == "Unmarried") & married
    bad |= (_positive(frame["capital-gain"])) & (_positive(frame["capital-loss"]))
    unknown_work = (frame["workclass"] == "?") | (frame["workclass"] == "Never-worked")
    bad |= (frame["occupation"] == "?") != unknown_work
    bad |= (frame["occupation"] == "Armed-Forces") & (frame["workclass"] != "Federal-gov")
    for one, other in (("education", "education-num"), ("education-num", "education")):
        bad |= _differs_from_table(frame, one, other)
    return bad


def _positive(column: pd.Series[str]) -> pd.Series[bool]:
    return column.astype(float) > 0


def _tic_tac_toe(frame: pd.DataFrame) -> pd.Series[bool]:
    boards = final_boards()
    rows = frame.itertuples(index=False, name=None)
    return pd.Series([row not in boards for row in rows], index=frame.index)


@cache
def final_boards() -> set[tuple[str, ...]]:
    """Return the final positions of tic-tac-toe with their class, by all boards of each move; x moves first."""
    found: set[tuple[str, ...]] = set()
    boards: set[tuple[str, ...]] = {("b",) * 9}
    for move in range(10):
        player = "xo"[move % 2]
        following: set[tuple[str, ...]] = set()
        for board in boards:
            won, lost = (any({board[a], board[b], board[c]} == {one} for a, b, c in LINES) for one in "xo")
            if won or lost or "b" not in board:
                found.add((*board, "positive" if won else "negative"))
            else:
                empty = [square for square, content in enumerate(board) if content == "b"]
                following |= {(*board[:square], player, *board[square + 1 :]) for square in empty}
        boards = following
    return found


_CHECKS: dict[str, Callable[[pd.DataFrame], pd.Series[bool]]] = {
    "nist-acs": _nist,
    "adult-raw": _adult,
    "tic-tac-toe": _tic_tac_toe,
}
