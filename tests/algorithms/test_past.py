from __future__ import annotations

from typing import Any

import pytest

from dpopt.algorithms.dualquery.past import read_past, reservation
from dpopt.errors import TranscriptError
from dpopt.files.codec import encode
from dpopt.transcript.journal import JournalContents
from tests.algorithms.small_runs import job, plan


def contents(*entries: dict[str, Any], torn: bool = False) -> JournalContents:
    return JournalContents(list(entries), 0, torn=torn)


def charge_entry(number: int, **extra: Any) -> dict[str, Any]:
    return {"kind": "charge", "round": number, "charge": encode(plan().charges()[number - 1]), **extra}


def draw_entry(number: int) -> dict[str, Any]:
    return {"kind": "draw", "round": number, "queries": [0], "counts": [8]}


RESERVED = reservation(job())
RECORD = {"kind": "record", "round": 1}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([charge_entry(1)], "line 1 .* nothing was reserved"),
        ([reservation(job(rounds=5))], "line 1 .* the reservation is not that of plan.json"),
        ([RESERVED, RESERVED], "line 2 .* the reservation is not that of plan.json"),
        ([RESERVED, {"kind": "gift"}], "line 2 .* unknown kind 'gift'"),
        ([RESERVED, {"no": "kind"}], "line 2 .* does not fit what precedes it: 'kind'"),
        ([RESERVED, charge_entry(2)], "line 2 .* round 2 is charged out of order"),
        ([RESERVED, charge_entry(1), charge_entry(2)], "line 3 .* round 2 is charged out of order"),
        ([RESERVED, draw_entry(1)], "line 2 .* round 1 out of order"),
        ([RESERVED, charge_entry(1), draw_entry(1), draw_entry(1)], "line 4 .* a second draw for one charge"),
        ([RESERVED, charge_entry(1), RECORD], "line 3 .* a record without its draw"),
        ([RESERVED, charge_entry(1), draw_entry(1), RECORD, RECORD], "line 5 .* a record without its draw"),
        (
            [RESERVED, charge_entry(1), draw_entry(1), charge_entry(1, given_up=6)],
            "line 4 .* a round is charged again only while its draw is missing",
        ),
        (
            [RESERVED, charge_entry(1), {"kind": "torn"}, draw_entry(1)],
            "line 4 .* made again without a second charge",
        ),
        (
            [RESERVED, charge_entry(1), {"kind": "torn"}, charge_entry(1, given_up=2)],
            "line 4 .* round 2 is given up, which is not the last one",
        ),
        ([RESERVED, {"kind": "measurement"}], "line 2 .* a measurement without its charge"),
        ([RESERVED, {"kind": "finish"}], "line 2 .* the run ends before its plan does"),
        ([RESERVED, {**charge_entry(1), "charge": {"kind": "gift"}}], "line 2 of transcript.jsonl"),
        ([RESERVED, {**draw_entry(1), "round": "one"}], "line 2 of transcript.jsonl"),
    ],
)
def test_a_transcript_out_of_order_is_refused_with_its_line(
    entries: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(TranscriptError, match=message):
        read_past(contents(*entries), job())


def test_public_inputs_that_changed_after_the_run_had_begun_are_refused() -> None:
    changed = job(output={"format": "csv", "rows": 5})
    with pytest.raises(TranscriptError, match="changed after the run had begun"):
        read_past(contents(RESERVED), changed)


def test_a_line_after_the_end_is_refused() -> None:
    short = job(rounds=1)
    ended = [reservation(short), charge_entry(1), draw_entry(1), RECORD, {"kind": "finish"}]
    assert read_past(contents(*ended), short).finished
    with pytest.raises(TranscriptError, match="line 6 .* the run had ended"):
        read_past(contents(*ended, {"kind": "finish"}), short)


def test_what_a_torn_line_may_have_held_is_remembered() -> None:
    assert not read_past(contents(torn=True), job()).started
    assert not read_past(contents(RESERVED, torn=True), job()).rounds
    (undrawn,) = read_past(contents(RESERVED, charge_entry(1), torn=True), job()).rounds
    assert undrawn.torn
    (drawn,) = read_past(contents(RESERVED, charge_entry(1), draw_entry(1), torn=True), job()).rounds
    assert not drawn.torn
