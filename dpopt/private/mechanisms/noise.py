"""Integer noise from OpenDP, whose samplers are exact.

They draw from a cryptographic generator inside the process (that of OpenSSL, which OpenDP's library contains), which
the operating system's generator seeds when it is first used, again and again later, and in a process that was forked. A
copy of the memory, such as a snapshot of a virtual machine, also copies its state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.threads import USUAL, in_threads

if TYPE_CHECKING:
    from opendp.mod import Domain, Measurement

DISCRETE_GAUSSIAN, DISCRETE_LAPLACE = "discrete Gaussian", "discrete Laplace"
"""Names of the distributions in transcripts."""
PIECE = 5_000
"""Counts that a thread takes at a time."""


class Noise(Protocol):
    """A source of integer noise for counts."""

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent discrete Gaussian noise of parameter sigma = `scale`."""
        ...

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent discrete Laplace noise, P(k) proportional to exp(-abs(k) / scale)."""
        ...


class OpendpNoise:
    """Noise drawn by OpenDP in pieces, which threads share: OpenDP does not hold the interpreter."""

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent discrete Gaussian noise of parameter sigma = `scale`."""
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance

        return _in_pieces(make_gaussian(_whole_numbers(), l2_distance(T="f64"), scale=scale), counts)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent discrete Laplace noise, P(k) proportional to exp(-abs(k) / scale)."""
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        return _in_pieces(make_laplace(_whole_numbers(), l1_distance(T="i64"), scale=scale), counts)


def _in_pieces(measurement: Measurement, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all counts with noise, drawn by the usual number of threads."""
    values = np.empty_like(counts)

    def draw(piece: slice) -> None:
        values[piece] = measurement(counts[piece].tolist())

    in_threads(draw, counts.size, PIECE, USUAL, None)
    return values


def _whole_numbers() -> Domain:
    """Return OpenDP's domain of vectors of 64-bit whole numbers, with samplers allowed that it calls "contrib".

    Not through `opendp.prelude`: that loads scikit-learn and more besides, which takes two seconds of each process.
    """
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))
