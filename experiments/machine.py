"""What a figure was measured on: the machine without its name, versions, and the date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "numba", "pyarrow", "scipy")


def describe_circumstances() -> dict[str, object]:
    """Return date, machine, load and versions as a JSON object."""
    from dpopt.version import __version__

    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
            "system": platform.system(),
        },
        "load_at_start": round(os.getloadavg()[0], 2),
        "versions": {
            "dpopt": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in LIBRARIES},
        },
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
