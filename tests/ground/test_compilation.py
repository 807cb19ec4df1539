from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numba
import pytest
from filelock import FileLock

from dpopt import compilation
from dpopt.compilation import kernel, stamp_of


def test_a_kernel_computes_what_its_function_computes() -> None:
    def double(number: int) -> int:
        return 2 * number

    assert kernel(double)(21) == 42


def test_a_kernel_is_compiled_without_cache_when_no_folder_is_writable(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_one_process_at_a_time_compiles_a_kernel_and_the_others_read_it(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text("from dpopt.compilation import kernel\n\n\n@kernel\ndef twice(number):\n    return 2 * number\n")
    names = runpy.run_path(str(source))
    index, other = Path(names["twice"]._cache._cache_file._index_path), runpy.run_path(str(source))
    with ThreadPoolExecutor(1) as pool:
        with FileLock(f"{index}.lock"):
            found = pool.submit(names["twice"], 4)
            assert not wait([found], timeout=0.5).done
            assert not index.exists()
        assert found.result() == 8
    assert index.exists()
    assert other["twice"](4) == 8
    assert list(other["twice"].stats.cache_hits.values()) == [1]


def test_code_on_disk_is_not_taken_once_a_part_of_it_in_another_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "_PACKAGE", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    part, source = tmp_path / "part_kernels.py", tmp_path / "kernels.py"
    source.write_text(
        "from dpopt.compilation import kernel\nfrom dpopt.part_kernels import times\n\n\n"
        "@kernel\ndef product(number):\n    return times(number)\n"
    )
    spec = importlib.util.spec_from_file_location("dpopt.part_kernels", part)
    assert spec is not None
    assert spec.loader is not None
    for factor in (2, 3):
        stamp_of.cache_clear()
        part.write_text(
            f"from dpopt.compilation import part\n\n\n@part\ndef times(number):\n    return {factor} * number\n"
        )
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "dpopt.part_kernels", module)
        spec.loader.exec_module(module)
        for _ in range(2):  # the second time from disk
            product = runpy.run_path(str(source))["product"]
            assert product(7) == 7 * factor
        assert sum(product.stats.cache_hits.values()) == 1
    stamp_of.cache_clear()
