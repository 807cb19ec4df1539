"""Draws and noise given in advance, for tests of noninterference; never private."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.private.selections.query_weights import QueryWeights


class ScriptedSampler:
    """Draws given in advance, whatever the weights: for tests of noninterference; never private."""

    def __init__(self, script: list[list[int]]) -> None:
        self._script = script
        self._position = 0

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        """Return the next scripted draw."""
        taken = np.sort(np.array(self._script[self._position], dtype=np.int64))
        if len(taken) != draws:
            raise IndexError(f"the script holds {len(taken)} draws for this round, {draws} were asked for")
        self._position += 1
        return taken


class ScriptedNoise:
    """Noisy values given in advance, whatever the counts: for tests of noninterference; never private."""

    def __init__(self, values: list[int]) -> None:
        self._values = np.array(values, dtype=np.int64)

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return the scripted values."""
        return np.resize(self._values, counts.shape)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return the scripted values."""
        return np.resize(self._values, counts.shape)


# Words given in advance, for exact output distributions.


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
