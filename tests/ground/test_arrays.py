from __future__ import annotations

import numpy as np
import pytest

from dpopt.arrays import freeze, frozen


def test_a_writable_array_is_copied() -> None:
    array = np.arange(3, dtype=np.int32)
    kept = frozen(array, np.int32)
    array[0] = 7
    assert kept.tolist() == [0, 1, 2]
    assert not kept.flags.writeable


def test_a_read_only_array_is_not_copied() -> None:
    array = freeze(np.arange(3, dtype=np.int32))
    assert frozen(array, np.int32) is array


def test_the_layout_is_always_c_contiguous() -> None:
    array = freeze(np.arange(6, dtype=np.int32).reshape(2, 3).T)
    assert frozen(array, np.int32).flags.c_contiguous


@pytest.mark.parametrize("values", [[1.5], [2**31], [-(2**31) - 1]])
def test_values_that_do_not_fit_are_refused(values: list[float]) -> None:
    with pytest.raises(OverflowError):
        frozen(np.array(values), np.int32)


def test_whole_floats_are_converted() -> None:
    assert frozen(np.array([1.0, 2.0]), np.int32).tolist() == [1, 2]
