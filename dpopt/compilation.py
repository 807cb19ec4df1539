"""How kernels are compiled: without the interpreter lock, kept on disk where that is possible.

Only files named kernels or ..._kernels, and compiled.py, import this module: importing numba takes a quarter of a
second, and nothing that a user sees first may wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and numbers with numba on its first call.

    The machine code is cached on disk. numba refuses to decorate when no cache folder is writable (a read-only
    installation without a home folder); then the kernel is compiled anew in every process.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, boundscheck=False)(function)
    except RuntimeError:
        compiled = numba.njit(cache=False, nogil=True, boundscheck=False)(function)
    return cast("Callable[P, R]", compiled)
