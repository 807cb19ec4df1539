"""Reading one item ahead: a thread gets the next one while the current one is worked on."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_Item = TypeVar("_Item")


class _End:
    """Stands for the end of the items."""


_END: Final = _End()


def one_ahead(items: Generator[_Item, None, None]) -> Generator[_Item, None, None]:
    """Yield the same items in the same order; each is made in a thread while the one before it is in use.

    So at most two of them are there at a time: the one in use, and the next one. What making an item raises is raised where it
    would be yielded. When this generator is closed, or fails, the thread first ends the item that it is at, and `items` is
    closed; no thread is left behind.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-ahead") as thread:
        try:
            coming = thread.submit(next, items, _END)
            while not isinstance(item := coming.result(), _End):
                coming = thread.submit(next, items, _END)
                yield item
                del item
        finally:
            thread.shutdown(wait=True)
            items.close()
