from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numba
import pytest
from filelock import FileLock

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


def test_one_process_at_a_time_reads_and_writes_the_code_that_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text(
        "from dpopt.compilation import kernel\n\n\n@kernel\ndef twice(number):\n    return 2 * number\n"
    )
    names = runpy.run_path(str(source))
    place = Path(names["twice"]._cache.cache_path)
    with ThreadPoolExecutor(1) as pool:
        with FileLock(place / "kernels.lock"):
            found = pool.submit(names["twice"], 4)
            assert not wait([found], timeout=0.5).done
        assert found.result() == 8
    assert list(place.glob("*.nbi"))
