"""Progress over time: news only, in order, nothing infinite."""

from __future__ import annotations

import math

from dpopt.solvers.process.history import History


def noted(history: History) -> list[tuple[float | None, float | None]]:
    return [(progress.objective, progress.bound) for progress in history.entries()]


def test_a_figure_stays_until_another_comes() -> None:
    history = History()
    history.note(bound=9.0)
    history.note(objective=4.0)
    history.note(objective=5.0, bound=8.0)
    assert noted(history) == [(None, 9.0), (4.0, 9.0), (5.0, 8.0)]


def test_what_is_no_news_is_left_out() -> None:
    history = History()
    history.note()
    history.note(objective=4.0)
    history.note(objective=4.0)
    assert noted(history) == [(4.0, None)]


def test_infinities_and_what_a_solver_writes_for_them_are_no_figures() -> None:
    history = History(beyond=1e20)
    history.note(objective=-math.inf, bound=1e20)
    history.note(objective=math.nan, bound=-1e20)
    assert noted(history) == []
    history.note(objective=1.0, bound=math.inf)
    assert noted(history) == [(1.0, None)]


def test_time_goes_forward() -> None:
    history = History()
    for value in range(5):
        history.note(objective=float(value))
    seconds = [progress.seconds for progress in history.entries()]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0
