"""dpopt: differential privacy posed as optimization.

A sensitive table goes in; synthetic rows, or answers with intervals, come out. Every algorithm is an optimization model
that any solver may solve. Records stay in one room, `private`; what leaves it has been charged first and is public from
then on. Solvers see public values only, and their answers are checked outside. The rooms, in the order in which data flow:

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
answers       questions, answered with intervals from what was measured
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

import re
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from types import FunctionType

from dpopt.arguments import checked, checked_constructor

# Public name -> module that defines it, read from what type checkers see: there the names are listed, once.
_STUB = (get_data(__name__, "__init__.pyi") or b"").decode()
_PUBLIC_NAMES = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)}

__all__ = [*_PUBLIC_NAMES]  # noqa: PLE0604  the names are strings


def __getattr__(name: str) -> object:
    """Import a public name, or a room, when it is first used."""
    if _PUBLIC_NAMES.get(name, __name__) != __name__:
        value: object = getattr(import_module(_PUBLIC_NAMES[name]), name)
        if isinstance(value, FunctionType):
            value = checked(value)
        elif isinstance(value, type):
            checked_constructor(value)
    elif not name.startswith("_") and find_spec(f"dpopt.{name}"):  # a room
        value = import_module(f"dpopt.{name}")
    else:
        raise AttributeError(f"dpopt has no public name {name!r}; see dir(dpopt)")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
