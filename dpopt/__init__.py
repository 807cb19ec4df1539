"""dpopt: differential privacy posed as optimization.

Records stay in one room, `private`; what leaves it has been charged first and is public from then on. Everything that
optimizes works on public values only, and its solvers are interchangeable. The rooms, in the order in which data flow:

schema        what a record may be: attributes, values, bins, rules on records
queries       what can be asked: clauses, workloads; counting and satisfaction as functions of arrays
accounting    what privacy costs: charges, composition theorems, conversions, the ledger
private       the trusted side: records, mechanisms, randomness, and the curators, its only door
transcript    what has crossed the boundary: released values, and the journal of charge, draw and record
models        from mathematics to programs
programs      what can be optimized, as plain arrays; results, certificates, the solver protocol
solvers       from a program to a result, one file per solver
inference     from noisy answers to weighted records that fit them, and how well any could
polynomials   polynomials near predicates, each with a proof that none is nearer
releases      what every release shares: files, output, ledgers, progress
algorithms    releases of records: plan, run, release
synopses      releases that answer queries, without records: histograms, intervals, summaries, ...
comparison    solvers compared on the same problems
reports       a release as a page for people, with or without its table
studio        a page on this machine, for owners who do not use a shell
cli           the command line
files         reading and writing files, with limits
html_pages    one page of HTML from a template and values
arrays        read-only arrays
compilation   compiled kernels
machine       memory and the ends of processes, as the operating system has them
public_random seeded public numbers
threads       work in threads
arguments     arguments by name and by type, checked before anything is done
constraints   ranges and choices of public values, declared in annotations
errors        every error, one family, and how its messages name options
version       which dpopt this is
__main__      `python -m dpopt` is the command `dpopt`

Public names can be imported from here. Nothing heavy is loaded before it is used: the first use of a name imports the
module that defines it.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

from dpopt.arguments import checked, checked_constructor
from dpopt.version import __version__

if TYPE_CHECKING:
    from dpopt.accounting.accountants import Accountant as Accountant
    from dpopt.accounting.budget import Budget as Budget
    from dpopt.accounting.relations import NeighbouringRelation as NeighbouringRelation
    from dpopt.algorithms.after.reweighted_release import reweight_release as reweight_release
    from dpopt.algorithms.evaluate import evaluate as evaluate
    from dpopt.algorithms.evaluation import Evaluation as Evaluation
    from dpopt.algorithms.options import FEM as FEM
    from dpopt.algorithms.options import MWEM as MWEM
    from dpopt.algorithms.options import PMW as PMW
    from dpopt.algorithms.options import Auto as Auto
    from dpopt.algorithms.options import DualQuery as DualQuery
    from dpopt.algorithms.options import Noise as Noise
    from dpopt.algorithms.options import Projection as Projection
    from dpopt.algorithms.options import SmallDatabase as SmallDatabase
    from dpopt.algorithms.planned import Planned as Planned
    from dpopt.algorithms.planned import plan as plan
    from dpopt.algorithms.planned import recommended_epsilon as recommended_epsilon
    from dpopt.algorithms.release import release as release
    from dpopt.algorithms.release import resume as resume
    from dpopt.algorithms.replay import replay as replay
    from dpopt.algorithms.synthesizer import Synthesizer as Synthesizer
    from dpopt.algorithms.synthetic_release import SyntheticRelease as SyntheticRelease
    from dpopt.errors import DpoptError as DpoptError
    from dpopt.private.drafts.infer_schema import SchemaDraft as SchemaDraft
    from dpopt.private.drafts.infer_schema import infer_schema as infer_schema
    from dpopt.private.readers.binary.bit_file import bit_table as bit_table
    from dpopt.private.readers.binary.bit_file import write_bit_file as write_bit_file
    from dpopt.private.readers.read_binary_table import read_binary_table as read_binary_table
    from dpopt.private.readers.read_table import read_table as read_table
    from dpopt.private.readers.table_reading import TableReading as TableReading
    from dpopt.queries.workloads.workload import Workload as Workload
    from dpopt.queries.workloads.workload import parse_workload as parse_workload
    from dpopt.reports.report import report as report
    from dpopt.schema.attribute import Attribute as Attribute
    from dpopt.schema.attribute import AttributeKind as AttributeKind
    from dpopt.schema.rules.rule import Rule as Rule
    from dpopt.schema.schema import Schema as Schema
    from dpopt.synopses.any_synopsis import read_synopsis as read_synopsis
    from dpopt.synopses.decision_lists.release_lists import decision_lists as decision_lists
    from dpopt.synopses.halfspaces.release_halfspaces import halfspaces as halfspaces
    from dpopt.synopses.histograms.grids.release_grid import grid as grid
    from dpopt.synopses.histograms.prefixes import grow as grow
    from dpopt.synopses.histograms.prefixes import prefixes as prefixes
    from dpopt.synopses.histograms.release_histogram import histogram as histogram
    from dpopt.synopses.histograms.release_histogram import plan_histogram as plan_histogram
    from dpopt.synopses.histograms.sorted.release_sorted import degrees as degrees
    from dpopt.synopses.histograms.sorted.release_sorted import sorted_counts as sorted_counts
    from dpopt.synopses.intervals.release_intervals import intervals as intervals
    from dpopt.synopses.sanitizers.release_sanitizer import sanitize as sanitize
    from dpopt.synopses.summaries.release_summary import summary as summary
    from dpopt.transcript.budget_ledger import BudgetLedger as BudgetLedger


# Public name -> module that defines it. A new public name goes here and into the imports for type checkers above;
# tests/repository/test_public_names.py compares the two.
_PUBLIC_NAMES: dict[str, str] = {
    "Accountant": "dpopt.accounting.accountants",
    "Attribute": "dpopt.schema.attribute",
    "AttributeKind": "dpopt.schema.attribute",
    "Auto": "dpopt.algorithms.options",
    "Budget": "dpopt.accounting.budget",
    "BudgetLedger": "dpopt.transcript.budget_ledger",
    "DpoptError": "dpopt.errors",
    "DualQuery": "dpopt.algorithms.options",
    "Evaluation": "dpopt.algorithms.evaluation",
    "FEM": "dpopt.algorithms.options",
    "MWEM": "dpopt.algorithms.options",
    "NeighbouringRelation": "dpopt.accounting.relations",
    "Noise": "dpopt.algorithms.options",
    "PMW": "dpopt.algorithms.options",
    "Planned": "dpopt.algorithms.planned",
    "Projection": "dpopt.algorithms.options",
    "Rule": "dpopt.schema.rules.rule",
    "Schema": "dpopt.schema.schema",
    "SchemaDraft": "dpopt.private.drafts.infer_schema",
    "SmallDatabase": "dpopt.algorithms.options",
    "Synthesizer": "dpopt.algorithms.synthesizer",
    "SyntheticRelease": "dpopt.algorithms.synthetic_release",
    "TableReading": "dpopt.private.readers.table_reading",
    "Workload": "dpopt.queries.workloads.workload",
    "bit_table": "dpopt.private.readers.binary.bit_file",
    "decision_lists": "dpopt.synopses.decision_lists.release_lists",
    "degrees": "dpopt.synopses.histograms.sorted.release_sorted",
    "evaluate": "dpopt.algorithms.evaluate",
    "grid": "dpopt.synopses.histograms.grids.release_grid",
    "grow": "dpopt.synopses.histograms.prefixes",
    "halfspaces": "dpopt.synopses.halfspaces.release_halfspaces",
    "histogram": "dpopt.synopses.histograms.release_histogram",
    "infer_schema": "dpopt.private.drafts.infer_schema",
    "intervals": "dpopt.synopses.intervals.release_intervals",
    "parse_workload": "dpopt.queries.workloads.workload",
    "plan": "dpopt.algorithms.planned",
    "plan_histogram": "dpopt.synopses.histograms.release_histogram",
    "prefixes": "dpopt.synopses.histograms.prefixes",
    "read_binary_table": "dpopt.private.readers.read_binary_table",
    "read_synopsis": "dpopt.synopses.any_synopsis",
    "read_table": "dpopt.private.readers.read_table",
    "recommended_epsilon": "dpopt.algorithms.planned",
    "release": "dpopt.algorithms.release",
    "replay": "dpopt.algorithms.replay",
    "report": "dpopt.reports.report",
    "resume": "dpopt.algorithms.release",
    "reweight_release": "dpopt.algorithms.after.reweighted_release",
    "sanitize": "dpopt.synopses.sanitizers.release_sanitizer",
    "sorted_counts": "dpopt.synopses.histograms.sorted.release_sorted",
    "summary": "dpopt.synopses.summaries.release_summary",
    "write_bit_file": "dpopt.private.readers.binary.bit_file",
}

_ROOMS = (
    "accounting", "algorithms", "arguments", "arrays", "cli", "comparison", "compilation", "constraints", "errors",
    "files", "html_pages", "inference", "machine", "models", "polynomials", "private", "programs", "public_random",
    "queries", "releases", "reports", "schema", "solvers", "studio", "synopses", "threads", "transcript", "version",
)  # fmt: skip

__all__ = ["__version__", *_PUBLIC_NAMES]  # noqa: PLE0604  the names are strings


def __getattr__(name: str) -> object:
    """Import a public name, or a room, when it is first used."""
    if name in _PUBLIC_NAMES:
        value: object = getattr(import_module(_PUBLIC_NAMES[name]), name)
        if isinstance(value, FunctionType):
            value = checked(value)
        elif isinstance(value, type):
            checked_constructor(value)
    elif name in _ROOMS:
        value = import_module(f"dpopt.{name}")
    else:
        raise AttributeError(f"dpopt has no public name {name!r}; see dir(dpopt)")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
