"""The names of the algorithms, and which of them take an option that not all of them take.

Texts alone: the help of the command line shows the options of one algorithm, and loads no algorithm for that.
"""

from __future__ import annotations

from collections.abc import Mapping

AUTO = "auto"
ALGORITHMS = (
    AUTO,
    "dualquery",
    "projection",
    "adaptive",
    "fem",
    "sepfem",
    "dqrs",
    "pmw",
    "mwem",
    "smalldb",
    "noise",
)
"""`auto`, and the names of the registry in its order."""

_PLAYED = ("dualquery", "dqrs", "fem", "sepfem")
_FITTED = ("projection", "adaptive")
_LEARNED = ("pmw", "mwem")
TAKERS: Mapping[str, tuple[str, ...]] = {
    "rounds": (*_PLAYED, *_LEARNED),
    "draws": _PLAYED,
    "step": ("dualquery", "dqrs"),
    "plan_by": ("dualquery", "pmw"),
    "free_attributes": ("dualquery", "dqrs"),
    "record_encoding": ("dualquery", "dqrs"),
    "selections": ("adaptive",),
    "records": (*_FITTED, *_LEARNED, "smalldb"),
    "smoothing": _FITTED,
    "columns": _FITTED,
    "fit_seconds": _FITTED,
    "alpha": ("pmw",),
    "select": _LEARNED,
    "update": _LEARNED,
    "selection_share": _LEARNED,
    "replays": _LEARNED,
    "average": _LEARNED,
    "rows": (*_PLAYED, *_FITTED, *_LEARNED, "smalldb"),
}
"""Which algorithms take an option that not all of them take."""

SPECIFIC = frozenset(name for name, takers in TAKERS.items() if len(takers) < len(ALGORITHMS) - 2)
"""The options that not even all algorithms with records take: all but `auto`, which stands for another, and noise."""
