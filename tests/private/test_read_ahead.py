"""Reading one item ahead: the same items in the same order, two at a time, and no thread or file left behind."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from dpopt.private.engines.streamed_table import one_ahead


def noted(number: int, made: list[int], *, fail_at: int = -1) -> Generator[int, None, None]:
    try:
        for item in range(number):
            if item == fail_at:
                raise ValueError("this item cannot be made")
            made.append(item)
            yield item
    finally:
        made.append(-1)  # closed


def test_items_come_in_order_and_the_next_one_is_made_meanwhile() -> None:
    made: list[int] = []
    begun = threading.Event()

    def items() -> Generator[int, None, None]:
        yield 0
        begun.set()
        yield 1

    ahead = one_ahead(items())
    assert next(ahead) == 0
    assert begun.wait(20)  # while item 0 is in use, and without asking for the next one
    assert list(ahead) == [1]
    assert list(one_ahead(noted(0, made))) == []
    assert list(one_ahead(noted(5, made))) == [0, 1, 2, 3, 4]


def test_no_more_than_one_item_is_made_in_advance() -> None:
    made: list[int] = []
    for item in one_ahead(noted(6, made)):
        assert len(made) <= item + 2 or made[-1] == -1
    assert made == [0, 1, 2, 3, 4, 5, -1]


def test_what_making_an_item_raises_comes_after_the_items_before_it() -> None:
    made: list[int] = []
    ahead = one_ahead(noted(5, made, fail_at=2))
    assert [next(ahead), next(ahead)] == [0, 1]
    with pytest.raises(ValueError, match="this item cannot be made"):
        next(ahead)
    assert made == [0, 1, -1]


def test_closing_ends_the_thread_and_closes_the_items() -> None:
    made: list[int] = []
    ahead = one_ahead(noted(5, made))
    assert next(ahead) == 0
    ahead.close()
    assert made == [0, 1, -1]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]
