"""`python -m experiments.accuracy_leader`: which algorithm has the smallest errors, on which table, at which budget."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from experiments.accuracy_leader import summary
from experiments.accuracy_leader.measuring import PLAN, Result, as_ours, measure, measure_beside, predict
from experiments.accuracy_leader.parts import PARTS
from experiments.accuracy_leader.picture import draw
from experiments.experiment import Report, carry_out, parser_of
from experiments.peers.measure import PEERS

QUICK_PARTS = ("adult7", "kdd")
ON_FILE = Path(__file__).resolve().parent.parent / "peers" / "results.json"
_LEFT_OUT = {"mwem", "mst-rounded"}
"""Methods of peers that are not run: one takes hours, the other is the defective sampling of MST."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet and print the tables."""
    parser = parser_of("accuracy_leader", runs=5)
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), help="some of the parts (all)")
    parser.add_argument("--algorithms", nargs="+", help="some of the algorithms (all of each part)")
    parser.add_argument("--predict", action=argparse.BooleanOptionalAction, default=True, help="ask `dpopt plan` too")
    parser.add_argument("--peers", type=Path, help="folder with one environment per peer: run them too")
    parser.add_argument("--peer-methods", nargs="+", help="some of the peers, as dpmm:aim")
    return carry_out(parser, arguments, {"results": _results}, markdown, continues=True, draw=_draw)


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables, with the peers' runs on file."""
    return summary.markdown(with_peers_on_file(report["results"]))


def _draw(report: Report, folder: Path) -> None:
    draw(with_peers_on_file(report["results"]), folder / "errors.svg")


def _results(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    """Yield what is not known yet, part by part: our runs, the predictions, and the peers' runs."""
    runs, quick = options.runs, options.quick
    for name in options.parts or (QUICK_PARTS if quick else PARTS):
        part = PARTS[name].made_small() if quick else PARTS[name]
        yield from measure(part, runs=runs, algorithms=options.algorithms, known=list(known), quick=quick)
        if options.predict:
            yield from predict(part, known=list(known), quick=quick)
        if part.peers and options.peers is not None:
            chosen = options.peer_methods or [
                f"{peer}:{method}" for peer in PEERS for method in PEERS[peer] if method not in _LEFT_OUT
            ]
            pairs = [(name.split(":", 1)[0], name.split(":", 1)[1]) for name in chosen]
            yield from measure_beside(part, options.peers, pairs, runs=runs, known=list(known))


def with_peers_on_file(results: list[Result]) -> list[Result]:
    """Return the results, with the peers' runs that `experiments.peers` has on file where none were measured here."""
    parts = {result["part"] for result in results if result["algorithm"] != PLAN}
    part = next((part for part in PARTS.values() if part.peers and part.name in parts), None)
    if part is None or not ON_FILE.exists() or any("peer" in result for result in results):
        return results
    theirs = json.loads(ON_FILE.read_text(encoding="utf-8"))
    budgets = {result["epsilon"] for result in results if result["part"] == part.name}
    return results + [
        as_ours(part, result)
        for result in theirs
        if result["work"] == "small" and result["epsilon"] in budgets and result["method"] not in _LEFT_OUT
    ]


if __name__ == "__main__":
    sys.exit(main())
