"""What is compared: tables, marginals, budgets, algorithms, and the figures that a leader has to beat."""

from __future__ import annotations

from dataclasses import dataclass, replace

ADD_REMOVE, REPLACE = "add-remove", "replace"
MINUTES, MEGABYTES = 600.0, 6_000.0
SLOW_RUNS = 2
REMOVED = ("sepfem", "dqrs")
"""Algorithms that dpopt had when the stored figures were measured; they are shown, and not run again."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A known figure, or one that was set: no algorithm of ours is the leader without staying at or below it."""

    epsilon: float
    """Where it applies."""
    figure: str
    """"max_error", "mean_error", "seconds" or "peak_mb"."""
    most: float
    """The figure itself, or the factor where it is another algorithm's."""
    of: str | None = None
    """The algorithm of the same part whose figure is multiplied by `most`; "peers" is the best of all peers."""
    held: str | None = None
    """The algorithm that is held against it; None is the best of the part's contenders."""


@dataclass(frozen=True, slots=True)
class Part:
    """One table with its workload."""

    name: str
    table: str
    """Its name on the command line, and the name of the table in `experiments.tables`."""
    workload: str
    """The workload; "{run}" stands for the number of the run, so that each run has marginals of its own."""
    epsilons: tuple[float, ...]
    """Budgets."""
    algorithms: tuple[str, ...]
    """Those that make sense here, under the neighbours of the part."""
    beside: tuple[str, ...] = ()
    """Algorithms that are shown under the other neighbours too."""
    neighbours: str = ADD_REMOVE
    """"add-remove" (the public size is the number of rows) or "replace"."""
    delta: float | None = None
    """None stands for 1 / n^2."""
    contenders: tuple[str, ...] = ("projection", "adaptive")
    """The algorithms of which the best is held against the bars."""
    bars: tuple[Bar, ...] = ()
    peers: bool = False
    """Whether the peers of `experiments.peers` can run this work."""
    slow: tuple[str, ...] = ()
    """Algorithms that take minutes here and have `SLOW_RUNS` runs at most."""

    def variants(self) -> list[tuple[str, str]]:
        """Return algorithms with their neighbours, in the order in which they run."""
        other = REPLACE if self.neighbours == ADD_REMOVE else ADD_REMOVE
        own = [(algorithm, self.neighbours) for algorithm in self.algorithms]
        return own + [(algorithm, other) for algorithm in self.beside]

    def runs_of(self, algorithm: str, runs: int) -> int:
        """Return how many of these runs an algorithm has."""
        return min(runs, SLOW_RUNS) if algorithm in self.slow else runs

    def made_small(self) -> Part:
        """Return the part as `--quick` runs it, on made-up records: one budget, few queries, nothing slow, no bars."""
        few = "conjunctions:3,count=300" if "conjunctions" in self.workload else "marginals:2,count=3,seed={run}"
        return replace(
            self,
            workload=few,
            epsilons=(20.0,),
            algorithms=tuple(name for name in self.algorithms if name != "fem"),
            beside=(),
            delta=1e-6,
            bars=(),
            peers=False,
        )


_SOME = "marginals:3,count=64,seed={run}"
_LEAST_TIME = tuple(
    Bar(epsilon, figure, most)
    for epsilon in (0.1, 0.2, 0.5, 1.0)
    for figure, most in (("seconds", MINUTES), ("peak_mb", MEGABYTES))
)
_PLOTTED = {0.1: 0.254, 0.2: 0.188, 0.5: 0.120, 1.0: 0.105}

PARTS = {
    part.name: part
    for part in (
        Part(
            "adult13",
            "adult-gem",
            "marginals:3",
            (1.0, 0.1),
            ("noise", "projection", "adaptive", "dualquery", "fem"),
            ("projection", "adaptive"),
            slow=("fem",),
            bars=(
                Bar(1.0, "max_error", 0.010),
                Bar(1.0, "mean_error", 0.0001),
                Bar(1.0, "seconds", 60.0),
                Bar(0.1, "max_error", 0.045),
                Bar(0.1, "mean_error", 0.0003),
                Bar(0.1, "seconds", 60.0),
            ),
        ),
        Part(
            "adult7",
            "adult-gem-7",
            "marginals:3",
            (1.0, 0.1),
            ("noise", "projection", "adaptive", "dualquery", "fem"),
            ("projection", "adaptive"),
            slow=("fem",),
            bars=tuple(
                Bar(epsilon, figure, 1.0, "peers") for epsilon in (1.0, 0.1) for figure in ("max_error", "mean_error")
            ),
            peers=True,
        ),
        Part(
            "loans",
            "loans",
            _SOME,
            (0.1, 0.2, 0.5, 1.0),
            ("adaptive", "dualquery", "fem"),
            ("adaptive",),
            slow=("dualquery", "fem"),
            bars=(
                *(Bar(epsilon, "max_error", plotted / 2) for epsilon, plotted in _PLOTTED.items()),
                *(Bar(epsilon, "max_error", plotted, held="fem") for epsilon, plotted in _PLOTTED.items()),
                *_LEAST_TIME,
            ),
        ),
        Part(
            "fire",
            "fire",
            _SOME,
            (0.1, 0.2, 0.5, 1.0),
            ("adaptive", "dualquery", "fem"),
            ("adaptive",),
            slow=("dualquery", "fem"),
            bars=(*(Bar(epsilon, "max_error", 0.5, "fem") for epsilon in (0.1, 0.2, 0.5, 1.0)), *_LEAST_TIME),
        ),
        Part(
            "kdd",
            "kdd99-coded",
            "conjunctions:3,count=500000,seed=7",
            (0.25, 1.0, 5.0),
            ("noise", "projection", "dualquery"),
            neighbours=REPLACE,
            delta=1e-3,
            contenders=("projection",),
            bars=tuple(
                Bar(epsilon, figure, 1.0, other)
                for epsilon in (0.25, 1.0, 5.0)
                for figure in ("max_error", "mean_error")
                for other in ("dualquery", "noise")
            ),
        ),
    )
}
