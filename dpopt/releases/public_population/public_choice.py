"""Public random choices, each with its own stream: they protect nothing and repeat with their seed."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import PublicRandom


def public_stream(seed: int, purpose: str) -> PublicRandom:
    """Return the stream of public randomness that belongs to a seed and a purpose."""
    digest = hashlib.sha256(f"{seed}:{purpose}".encode()).digest()
    return PublicRandom(int.from_bytes(digest[:8], "little"))


def uniforms(stream: PublicRandom, count: int) -> NDArray[np.float64]:
    """Return the next `count` numbers of the stream, uniform on the multiples of 2**-53 in [0, 1)."""
    return (stream.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permutation(stream: PublicRandom, length: int) -> NDArray[np.int64]:
    """Return a uniformly random order of 0 .. length - 1."""
    return np.argsort(stream.words(length), kind="stable")
