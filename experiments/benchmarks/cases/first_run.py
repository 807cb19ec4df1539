"""The first run in a new environment, which compiles the kernels that it needs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import run_dpopt, spread
from experiments.tables import prepare


@case("How long does the first run in a new environment take, and how much of it is compiling?")
def first_run(setting: Setting) -> Result:
    """Measure the demonstration and a release of raw Adult, each with nothing compiled and then again."""
    table = prepare("adult-raw", setting.folder, quick=setting.quick)
    release = ["release", str(table.path), *table.declared(), *table.options(), "--epsilon", "1"]
    workload, algorithm = setting.pick(("marginals:3", "projection"), ("marginals:1", "noise"))
    release += ["--delta", "1e-9", "--workload", workload, "--algorithm", algorithm]
    release += setting.pick([], ["--no-predict"])
    named = {f"dpopt release, {workload}, {algorithm}": release}
    if not setting.quick:
        named = {"dpopt demo": ["demo"], **named}
    rows = [{"command": name, **_row(command, setting)} for name, command in named.items()]
    bars = [
        Bar(f"{row['command']}: processor seconds of compiling, median", row["compiling"]["median"], 15) for row in rows
    ]
    return Result(rows, bars)


def _row(command: Sequence[str], setting: Setting) -> dict[str, Any]:
    """Return seconds of first and second runs; compiling is the difference of their processor seconds."""
    pairs = []
    for _ in range(setting.runs):
        with (
            tempfile.TemporaryDirectory(dir=setting.folder) as compiled,
            patch.dict(os.environ, {"NUMBA_CACHE_DIR": compiled}),
        ):
            outs = [[] if command[0] == "demo" else ["--out", f"{compiled}/{name}"] for name in ("a", "b")]
            pairs.append([run_dpopt([*command, *out]) for out in outs])
    return {
        "first run, seconds": spread(first.seconds for first, _ in pairs),
        "first run, processor seconds": spread(first.processor_seconds for first, _ in pairs),
        "second run, seconds": spread(second.seconds for _, second in pairs),
        "second run, processor seconds": spread(second.processor_seconds for _, second in pairs),
        "compiling": spread(first.processor_seconds - second.processor_seconds for first, second in pairs),
    }
