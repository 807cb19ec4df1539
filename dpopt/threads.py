"""Work on pieces of a range in threads, and how far it is, reported in steps that say nothing about the table.

Compiled kernels run without the interpreter's lock, so that pieces of one array are worked on at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar, cast

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
_Other = TypeVar("_Other")
USUAL = 1 if os.environ.get("DPOPT_THREADS") == "1" else 2
"""Threads that share the work of a run. ``DPOPT_THREADS=1`` leaves it to one, where many processes share the cores: threads
that wait for each other would take turns there. No result depends on it."""
STEPS = 20  # shares that are reported: 1/20, 2/20, ..., 1


_idle: list[ThreadPoolExecutor] = []
"""Helpers of one thread each, kept for the next work: to start a thread can take longer than a round of a run."""
if hasattr(os, "register_at_fork"):  # a copy of this process has none of its threads
    os.register_at_fork(after_in_child=_idle.clear)


def in_threads(
    run: Callable[[slice], None], size: int, step: int, threads: int, progress: Callable[[float], None] | None
) -> None:
    """Run `run` on all pieces of range(size), `step` long; threads and progress as for `map_in_threads`."""
    pieces = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    map_in_threads(run, pieces, threads, progress)


def map_in_threads(
    work: Callable[[_Item], _Made],
    items: Sequence[_Item],
    threads: int,
    progress: Callable[[float], None] | None = None,
) -> list[_Made]:
    """Return the result of `work` for each item; the caller's thread and others take one item after the other.

    As many items as threads are worked on at once, and may wait for each other. `progress` is called in the caller's
    thread with the share that is done, not after each item.
    """
    left, found = list(enumerate(items))[::-1], dict[int, _Made]()

    def go_on(tell: Callable[[float], None] | None) -> None:
        try:
            while (taken := _last_of(left)) is not None:
                found[taken[0]] = work(taken[1])
                if tell is not None:
                    tell(len(found) / len(items))
        except BaseException:  # an interruption too: no thread begins another item
            left.clear()
            raise

    helpers = [_last_of(_idle) or ThreadPoolExecutor(1) for _ in range(1, min(threads, len(items)))]
    others = [helper.submit(go_on, None) for helper in helpers]
    try:
        go_on(progress)
    finally:
        wait(others)
        _idle.extend(helpers)
    for other in others:
        other.result()
    if helpers and progress is not None:
        progress(1.0)
    return [found[place] for place in range(len(items))]


def _last_of(held: list[_Item]) -> _Item | None:
    """Take the last one off a list that other threads use; None if it is empty."""
    try:
        return held.pop()
    except IndexError:
        return None


def side_by_side(first: Callable[[], _Made], second: Callable[[], _Other], ended: Event) -> tuple[_Made, _Other]:
    """Return the results of two functions; the second runs in another thread, if there are two.

    The first works in the caller's thread. If it fails or is interrupted, `ended` is set, which the second looks at
    between its steps: the error goes on once the second has returned or failed.
    """
    if USUAL <= 1:
        return first(), second()
    with ThreadPoolExecutor(max_workers=1) as pool:
        other = pool.submit(second)
        try:
            return first(), other.result()
        except BaseException:
            ended.set()
            raise


def one_ahead(items: Iterable[_Made]) -> Generator[_Made, None, None]:
    """Yield the same items in the same order; each is made in a thread while the one before it is in use.

    So at most two of them are there at a time: the one in use, and the next one. What making an item raises is raised
    where it would be yielded. When this generator is closed, or fails, the thread first ends the item that it is at,
    and a generator of items is closed; no thread is left behind. Where there is one thread, it makes them.
    """
    if USUAL <= 1:
        yield from items
        return
    left, end = iter(items), object()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-ahead") as thread:
        try:
            coming = thread.submit(next, left, end)
            while (item := coming.result()) is not end:
                coming = thread.submit(next, left, end)
                yield cast("_Made", item)
                del item
        finally:
            thread.shutdown(wait=True)
            if isinstance(left, Generator):
                left.close()


class Progress:
    """Reports progress as the shares 1/20, 2/20, ..., 1, each once, whatever the pieces of the work are.

    How many pieces there are depends on the number of records; how many steps are reported does not.

    Parameters
    ----------
    report
        Called with the share that is done; None: nothing is reported.
    """

    def __init__(self, report: Callable[[float], None] | None) -> None:
        self._report = report
        self._reported = 0

    def part(self, begin: float, end: float) -> Callable[[float], None]:
        """Return a function of the done share of a part, which covers the work from the share `begin` to `end`."""
        return lambda share: self.reach(begin + (end - begin) * share)

    def reach(self, share: float) -> None:
        """Report all steps up to this share of the whole."""
        while self._report is not None and self._reported < STEPS and (self._reported + 1) / STEPS <= share + 1e-9:
            self._reported += 1
            self._report(self._reported / STEPS)
