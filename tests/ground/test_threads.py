"""Work side by side: both results, and the end of one when the other fails."""

from __future__ import annotations

from threading import Event, get_ident

import pytest

from dpopt import threads


@pytest.mark.parametrize("usual", [1, 2])
def test_both_results_come_back_and_the_first_is_made_by_the_caller(
    usual: int, monkeypatch: pytest.MonkeyPatch
) -> None:
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
