"""Words given in advance, for exact output distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class ScriptedWords:
    """A source of random words that gives these, and no others; never private."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)
        self._position = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words of the script."""
        end = self._position + count
        if end > len(self._words):
            raise IndexError(f"the script holds {len(self._words)} words, {end} were asked for")
        taken = self._words[self._position : end]
        self._position = end
        return taken
