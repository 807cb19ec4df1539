"""A forked process draws other noise and other words than its parent, whatever the parent had drawn before."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
import numpy as np
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SystemWords

def draw():
    zeros = np.zeros(8, dtype=np.int64)
    return {drawn}.tolist()

draw()  # the generator is seeded before the fork
sys.stdout.flush()
child = os.fork()
print(draw(), flush=True)
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    "drawn",
    [
        "OpendpNoise().discrete_gaussian(zeros, 1e9)",
        "OpendpNoise().discrete_laplace(zeros, 1e9)",
        "SystemWords().words(8)",
    ],
)
def test_parent_and_child_draw_differently(drawn: str) -> None:
    """Two lists of eight draws from a billion values: independent ones share a value with probability below 1e-7."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(drawn=drawn)], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert not set(first.strip("[]").split(", ")) & set(second.strip("[]").split(", "))
