"""`python -m experiments.accuracy_leader`: which algorithm has the smallest errors, on which table, at which budget."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.accuracy_leader.measuring import PLAN, Result, as_ours, measure, measure_beside, predict
from experiments.accuracy_leader.parts import PARTS, Part
from experiments.accuracy_leader.picture import draw
from experiments.accuracy_leader.summary import markdown
from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.peers.measure import PEERS
from experiments.tables import MissingDataError

PICTURE = Path(__file__).resolve().parent / "errors.svg"
QUICK_PARTS = ("adult7", "kdd")
ON_FILE = Path(__file__).resolve().parent.parent / "peers" / "results.json"
_LEFT_OUT = {"mwem", "mst-rounded"}
"""Methods of peers that are not run: one takes hours, the other is the defective sampling of MST."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet and print the tables."""
    options = _options(arguments)
    runs = 1 if options.quick else options.runs
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick, "results": []}
    if options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
        if report["quick"] != options.quick:
            print(f"{options.json} holds other results (quick: {report['quick']}); name another file")
            return 2
        report["runs"] = max(report["runs"], runs)
    parts = [PARTS[name] for name in options.parts or (QUICK_PARTS if options.quick else PARTS)]
    parts = [part.made_small() for part in parts] if options.quick else parts
    try:
        for result in _all(parts, options, report["results"], runs=runs):
            report["results"].append(result)
            print(json.dumps({key: value for key, value in result.items() if key != "chosen"}), flush=True)
            if options.json is not None:
                _write(options.json, report)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    shown = with_peers_on_file(report["results"])
    lines = list(markdown(shown))
    print("\n".join(lines))
    if options.document is not None:
        draw(shown, PICTURE)
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _all(parts: list[Part], options: argparse.Namespace, known: list[Result], *, runs: int) -> Iterator[Result]:
    """Yield what is not known yet, part by part: our runs, the predictions, and the peers' runs."""
    for part in parts:
        yield from measure(part, runs=runs, algorithms=options.algorithms, known=list(known), quick=options.quick)
        if options.predict:
            yield from predict(part, known=list(known), quick=options.quick)
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


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.accuracy_leader")
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), help="some of the parts (all)")
    parser.add_argument("--algorithms", nargs="+", help="some of the algorithms (all of each part)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each algorithm and budget (5)")
    parser.add_argument("--quick", action="store_true", help="tiny made-up tables: shows that it still runs")
    parser.add_argument("--predict", action=argparse.BooleanOptionalAction, default=True, help="ask `dpopt plan` too")
    parser.add_argument("--peers", type=Path, help="folder with one environment per peer: run them too")
    parser.add_argument("--peer-methods", nargs="+", help="some of the peers, as dpmm:aim")
    parser.add_argument("--json", type=Path, help="results: read first, and written after every run")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and the picture beside it")
    return parser.parse_args(arguments)


def _write(path: Path, report: dict[str, Any]) -> None:
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
