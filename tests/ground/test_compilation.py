from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numba
import pytest

from dpopt.compilation import kernel


def test_a_kernel_computes_what_its_function_computes() -> None:
    def double(number: int) -> int:
        return 2 * number

    assert kernel(double)(21) == 42


def test_a_kernel_is_compiled_without_cache_when_no_folder_is_writable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[bool] = []

    def njit(*, cache: bool, **_: bool) -> Callable[[object], object]:
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    def same(number: int) -> int:
        return number

    monkeypatch.setattr(numba, "njit", njit)
    assert kernel(same) is same
    assert tried == [True, False]


def test_importing_the_room_does_not_import_numba() -> None:
    code = "import sys, dpopt.queries; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
