"""Work in threads: results in their order, and an end of all when one fails."""

from __future__ import annotations

import os
from threading import Barrier, Event, get_ident
from time import sleep

import pytest

from dpopt import threads


@pytest.mark.parametrize("usual", [1, 2])
def test_both_results_come_back_and_the_first_is_the_callers(usual: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "USUAL", usual)
    first, second = threads.side_by_side(get_ident, get_ident, Event())
    assert first == get_ident()
    assert (second == first) == (usual == 1)


def test_an_interruption_ends_the_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "USUAL", 2)
    begun, ended, seen = Event(), Event(), list[bool]()

    def interrupted() -> None:
        begun.wait(60)
        raise KeyboardInterrupt

    def working() -> None:
        begun.set()
        seen.append(ended.wait(60))

    with pytest.raises(KeyboardInterrupt):
        threads.side_by_side(interrupted, working, ended)
    assert seen == [True]


@pytest.mark.parametrize("usual", [1, 2])
def test_a_failure_of_the_second_is_raised(usual: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "USUAL", usual)
    with pytest.raises(ZeroDivisionError):
        threads.side_by_side(int, lambda: 1 // 0, Event())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_results_come_in_order_and_shares_from_the_callers_thread(number: int) -> None:
    shares, told_by = list[float](), set[int]()

    def progress(share: float) -> None:
        shares.append(share)
        told_by.add(get_ident())

    assert threads.map_in_threads(lambda item: item * item, range(50), number, progress) == [i * i for i in range(50)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert told_by == {get_ident()}
    assert threads.map_in_threads(str, list[int](), number) == []


def test_as_many_items_as_threads_may_wait_for_each_other_inside_others_that_do() -> None:
    outer = Barrier(2, timeout=60)

    def work(place: int) -> list[int]:
        outer.wait()
        inner = Barrier(2, timeout=60)
        return threads.map_in_threads(lambda item: (inner.wait(), item + place)[1], [1, 2], 2)

    assert threads.map_in_threads(work, [10, 20], 2) == [[11, 12], [21, 22]]


@pytest.mark.parametrize("by_caller", [True, False])
def test_after_a_failure_no_further_item_is_begun(by_caller: bool) -> None:
    begun, both = list[int](), Barrier(2, timeout=60)

    def work(item: int) -> None:
        begun.append(item)
        if len(begun) <= 2:
            both.wait()
            if (get_ident() == caller) == by_caller:
                raise ZeroDivisionError
            sleep(0.2)

    caller = get_ident()
    with pytest.raises(ZeroDivisionError):
        threads.map_in_threads(work, range(1000), 2)
    assert len(begun) == 2
    assert threads.map_in_threads(str, [1, 2, 3], 2) == ["1", "2", "3"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no copies of processes here")
def test_a_copied_process_has_threads_of_its_own() -> None:
    threads.map_in_threads(str, [1, 2], 2)  # leaves a helper behind
    child = os.fork()
    if not child:
        both = Barrier(2, timeout=30)
        os._exit(0 if threads.map_in_threads(lambda _: both.wait() >= 0, [1, 2], 2) == [True, True] else 1)
    assert os.waitpid(child, 0)[1] == 0
