"""How kernels are compiled: without the interpreter lock, kept on disk if possible; and their shared settings.

Only files named kernels or ..._kernels, and compiled.py, import this module: importing numba takes a quarter of a
second, and nothing that a user sees first may wait for it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic, register_jitable
from numba.np import arrayobj
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and numbers with numba on its first call.

    The machine code is cached on disk. numba refuses to decorate when no cache folder is writable (a read-only
    installation without a home folder); then the kernel is compiled anew in every process.
    """
    return _compiled(function, nogil=True, boundscheck=False, no_cfunc_wrapper=True)


def lean_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes no array.

    References to arrays are not counted in it. For a function that is handed many arrays, counting them costs more than
    its work, and threads would have to do that one after another.
    """
    return _compiled(function, nogil=True, boundscheck=False, no_cfunc_wrapper=True, _nrt=False)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes no array into the kernels that call it, and only there.

    Nothing is made with which Python could call machine code: for a function of many arrays that takes most of the time
    of compiling. Called from Python it is interpreted.
    """
    register = cast("Callable[..., Callable[[Callable[P, R]], Callable[P, R]]]", register_jitable)
    return register(boundscheck=False, forceinline=True, no_cfunc_wrapper=True, _nrt=False)(function)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    jit = cast("Callable[..., Callable[[Callable[P, R]], Callable[P, R]]]", numba.njit)
    try:
        compiled = jit(cache=True, **options)(function)
    except RuntimeError:
        return jit(cache=False, **options)(function)
    kept = compiled._cache  # type: ignore[attr-defined]  # noqa: SLF001  numba has no public name for it
    _compile_once(compiled)
    source = Path(inspect.getfile(function))
    if source.is_file():  # and not in an archive
        kept._cache_file._source_stamp = stamp_of(source)  # noqa: SLF001
    return compiled


_OF_KERNELS = ("kernels", "compiled")
_PACKAGE = Path(__file__).parent
_IMPORTED = re.compile(r"^from dpopt\.([\w.]+) import", re.MULTILINE)


@cache
def stamp_of(source: Path) -> str:
    """Return a hash of a file of kernels, of the files that it imports, and of their imports from dpopt.

    Parts and constants of other files are compiled into a kernel. numba looks at the kernel's own file alone: after an
    update of another file it would go on with old code.
    """
    text = source.read_text("utf-8")
    found = [text]
    for name in _IMPORTED.findall(text):
        module = _PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
        if module.is_file():
            found.append(stamp_of(module) if module.stem.endswith(_OF_KERNELS) else module.read_text("utf-8"))
    return sha256("\0".join(found).encode()).hexdigest()


def _compile_once(compiled: Any) -> None:
    """Let one process at a time compile a kernel, read it or write it; the others wait and read its result.

    numba reads an index, chooses the name of a file, and writes both. Of two processes that compile different variants
    at once one may find the code of the other under the name of its own, and would run it. numba's own lock is taken
    first: a thread that holds it may come to this kernel while it compiles another one.
    """
    usual, kept = compiled.compile, compiled._cache._cache_file  # noqa: SLF001

    def alone(signature: Any) -> Any:
        from filelock import FileLock

        with global_compiler_lock, FileLock(f"{kept._index_path}.lock", is_singleton=True):  # noqa: SLF001
            return usual(signature)

    compiled.compile = alone


@part
def copy_into(target: NDArray[np.number], source: NDArray[np.number]) -> None:
    """Write the numbers of a flat array to another one; compiling numba's own `target[:] = source` takes two seconds."""
    for place in range(target.size):
        target[place] = source[place]


@part
def heap(keys: NDArray[np.number], order: NDArray[np.int64]) -> None:
    """Write the places of the keys to `order` (as long) so that `take_largest` finds them one after another.

    Of numba's own sort each use takes two seconds to compile.
    """
    for place in range(order.size):
        order[place] = place
    for place in range(order.size // 2 - 1, -1, -1):
        _sink(keys, order, place, order.size)


@part
def take_largest(keys: NDArray[np.number], order: NDArray[np.int64], left: int) -> int:
    """Return the place of the largest key of a heap with `left` places, the first of equal ones, and take it off."""
    largest = order[0]
    order[0] = order[left - 1]
    _sink(keys, order, 0, left - 1)
    return int(largest)


@part
def _sink(keys: NDArray[np.number], order: NDArray[np.int64], place: int, size: int) -> None:
    sinking = order[place]
    while 2 * place + 1 < size:
        under = 2 * place + 1
        if under + 1 < size and _before(keys, order[under + 1], order[under]):
            under += 1
        if not _before(keys, order[under], sinking):
            break
        order[place] = order[under]
        place = under
    order[place] = sinking


@part
def _before(keys: NDArray[np.number], one: int, other: int) -> bool:
    return bool(keys[one] > keys[other] or (keys[one] == keys[other] and one < other))


def _take_number(_typing_context, array, _place, _amount):  # type: ignore[no-untyped-def]
    """Add an amount to one number of an array of int64 and return the earlier value, in one step for all threads."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


def _give_way(_typing_context):  # type: ignore[no-untyped-def]
    """Let other threads run."""

    def generate(_context, builder, _signature, _arguments):  # type: ignore[no-untyped-def]
        of_system = ir.FunctionType(ir.IntType(32), [])
        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        function = cgutils.get_or_insert_function(builder.module, of_system, name)  # type: ignore[no-untyped-call]
        return builder.sext(builder.call(function, []), ir.IntType(64))

    return types.int64(), generate


LANES = 8
"""Numbers that `sum_rows` adds up at a time, in registers."""


def _sum_rows(_typing_context, values, rows, factors, _count, _first, sums):  # type: ignore[no-untyped-def]
    """Write to sums[first + i] the sum over r < count of factors[r] * values[rows[r] + first + i], for i < LANES.

    numba leaves such sums to scalars, as LLVM may not keep what lies in arrays in registers.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kinds = dict(zip(("values", "rows", "factors", "count", "first", "sums"), signature.args, strict=True))
        given = dict(zip(kinds, arguments, strict=True))

        def at(name, place):  # type: ignore[no-untyped-def]
            data = arrayobj.make_array(kinds[name])(context, builder, given[name]).data  # type: ignore[no-untyped-call]
            return builder.gep(data, [place])

        lanes = ir.VectorType(ir.DoubleType(), LANES)
        whole = ir.VectorType(context.get_value_type(kinds["values"].dtype), LANES)
        octets = kinds["values"].dtype.bitwidth // 8
        total = cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * LANES))  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, given["count"]) as loop:
            place = builder.add(builder.load(at("rows", loop.index)), given["first"])  # type: ignore[no-untyped-call]
            row = builder.bitcast(at("values", place), whole.as_pointer())  # type: ignore[no-untyped-call]
            numbers = builder.sitofp(builder.load(row, align=octets), lanes)
            factor = builder.load(at("factors", loop.index))  # type: ignore[no-untyped-call]
            nothing, zero = ir.Constant(lanes, ir.Undefined), ir.IntType(32)(0)
            first_of = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            spread = builder.shuffle_vector(builder.insert_element(nothing, factor, zero), nothing, first_of)
            builder.store(builder.fadd(builder.load(total), builder.fmul(numbers, spread)), total)
        target = builder.bitcast(at("sums", given["first"]), lanes.as_pointer())  # type: ignore[no-untyped-call]
        builder.store(builder.load(total), target, align=8)
        return context.get_dummy_value()

    return types.void(values, rows, factors, types.int64, types.int64, sums), generate


sum_rows = cast(
    "Callable[[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64], int, int, NDArray[np.float64]], None]",
    intrinsic(_sum_rows),
)
take_number = cast("Callable[[NDArray[np.int64], int, int], int]", intrinsic(_take_number))
give_way = cast("Callable[[], int]", intrinsic(_give_way))


@part
def meet(numbers: NDArray[np.int64], place: int, threads: int) -> None:
    """Wait until as many threads have come here; `numbers[place]` is 0 at first and used for one meeting."""
    take_number(numbers, place, 1)
    while take_number(numbers, place, 0) < threads:
        give_way()
