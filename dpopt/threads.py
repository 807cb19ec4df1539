"""Work on pieces of a range in threads, and how far it is, reported in steps that say nothing about the table.

Compiled kernels run without the interpreter's lock, so that pieces of one array are worked on at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar, cast

USUAL = 1 if os.environ.get("DPOPT_THREADS") == "1" else 2
"""Threads that share the work of a run. ``DPOPT_THREADS=1`` leaves it to one, where many processes share the cores: threads
that wait for each other would take turns there. No result depends on it."""
STEPS = 20  # shares that are reported: 1/20, 2/20, ..., 1


def in_threads(
    run: Callable[[slice], None], size: int, step: int, threads: int, progress: Callable[[float], None] | None
) -> None:
    """Run `run` on all pieces of range(size), `step` long, in threads if there is more than one piece.

    `progress` is called in the caller's thread with the share that is done, after each piece; if there is no piece, not
    at all.
    """
    pieces = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    if threads <= 1 or len(pieces) <= 1:
        for piece in pieces:
            run(piece)
            if progress is not None:
                progress(piece.stop / size)
        return
    with ThreadPoolExecutor(max_workers=min(threads, len(pieces))) as pool:
        futures = [pool.submit(run, piece) for piece in pieces]
        try:
            # Reported in order: a piece once all before it are done, which is early enough.
            for piece, future in zip(pieces, futures, strict=True):
                future.result()
                if progress is not None:
                    progress(piece.stop / size)
        except BaseException:  # an interruption too: do not work on to the end
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_Made = TypeVar("_Made")
_Other = TypeVar("_Other")


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
    and a generator of items is closed; no thread is left behind.
    """
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
