"""Archives of arrays: what they declare is held against what they hold, before anything is unpacked."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import TranscriptError
from dpopt.files.array_files import array_header, open_arrays, read_array

MOST = 2**20


def npy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], **stated: object) -> bytes:
    """Return the .npy file of an array, with another header where one is stated."""
    stream = io.BytesIO()
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **stated}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + array.tobytes()


def archive(path: Path, *members: tuple[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, data in members:
            file.writestr(name, data)
    return path


def said_to_unpack_to(path: Path, size: int) -> Path:
    """Change the size of the only member in the directory of an archive."""
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, size)
    path.write_bytes(data)
    return path


def read(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    with open_arrays(path, "bad", TranscriptError, MOST) as held:
        return held.array("a")


def test_arrays_are_read_as_numpy_writes_them(tmp_path: Path) -> None:
    for array in (np.arange(5), np.array(b"csr"), np.zeros((0, 3)), np.asfortranarray(np.eye(3))):
        np.savez_compressed(tmp_path / "a.npz", a=array)
        np.save(tmp_path / "a.npy", array)
        for found in (read(tmp_path / "a.npz"), read_array(tmp_path / "a.npy", "bad", TranscriptError)):
            assert found.dtype == array.dtype
            assert np.array_equal(found, array)
        assert array_header(tmp_path / "a.npy", "bad", TranscriptError) == (array.shape, array.dtype)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: archive(path, ("b.npy", npy(np.arange(3)))), "no array 'a'"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3), shape=(2**50,)))), "takes 9,007"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3), shape=(2,)))), "takes 16 bytes; found 24"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3), shape=(-1,)))), "found 24"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(0), descr="<U0", shape=(2**60,)))), "of the type"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3), descr="|O"))), "of the type object"),
        (lambda path: archive(path, ("a.npy", bytes(MOST + 1))), "at most 1,048,576"),
        (lambda path: archive(path, *((f"{i}.npy", b"") for i in range(5000))), "at most 4,096"),
        (lambda path: archive(path, ("a.npy", b"x"), kind=zipfile.ZIP_LZMA), "NumPy does not use"),
        (lambda path: archive(path, ("a.npy", b"\x93NUMPY\x01\x00\x10'" + b"(" * 10_000)), "bad"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3)).replace(b"}", b" "))), "header of an array"),
        (lambda path: archive(path, ("a.npy", npy(np.arange(3), descr=",i8"))), "header of an array"),
        (lambda path: said_to_unpack_to(archive(path, ("a.npy", npy(np.arange(3)))), 2**19), "which none do"),
        (lambda path: said_to_unpack_to(archive(path, ("a.npy", npy(np.arange(3)))), 999), "found 871"),
        (lambda path: path, "No such file"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    path = make(tmp_path / "a.npz")
    with pytest.raises(TranscriptError, match=message):
        read(path)


def test_an_array_of_which_a_part_is_lost_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(9))
    data = (tmp_path / "a.npy").read_bytes()
    for changed in (data[:-1], data + b"\0", data.replace(b"(9,)", b"(9" + b"9" * 20 + b",)"), data[:9], b""):
        (tmp_path / "a.npy").write_bytes(changed)
        for reader in (read_array, array_header):
            with pytest.raises(TranscriptError, match="bad"):
                reader(tmp_path / "a.npy", "bad", TranscriptError)
