"""Workloads: the queries that a run answers, how they were specified, and a fingerprint that never changes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.files.json_files import json_object, read_json_object, refuse_unknown_keys, shown
from dpopt.html_pages.shown import Shown
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.explicit import listed_queries, named_marginals
from dpopt.queries.workloads.items import ranks_from_text, ranks_to_text, read_ranks
from dpopt.queries.workloads.short_forms import FORMS, ShortForm, is_short_form
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from dpopt.threads import USUAL

WORKLOAD_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Workload(Shown):
    """m queries over a schema, in a fixed order.

    The queries are stored once; algorithms treat a workload as closed under negation (2 m signed queries). Marginals
    are held as shapes, and their cells written out as clauses only when somebody asks for `clauses`.

    Parameters
    ----------
    schema
        The public schema.
    queries
        The m base queries, m >= 1: clauses, or marginals whose cells are the queries.
    specification
        The canonical JSON object from which `workload_from_json` builds the same queries.
    fingerprint
        SHA-256 of the clauses in their order; of the shapes, for marginals with more than 50 million cells. Computed if
        left out, checked if given.

    Raises
    ------
    WorkloadError
        If there is no query, a query does not fit the schema, or the fingerprint is another one.

    Examples
    --------
    >>> import dpopt, numpy
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> workload = dpopt.parse_workload("marginals:1", schema)
    >>> len(workload), len(workload.clauses), workload.describe(0)
    (2, 2, 'smoker = false')
    >>> workload.answers_on(numpy.array([[0], [1], [1], [1]], numpy.int32)).tolist()
    [0.25, 0.75]
    >>> len(workload.marginals), workload.ranks
    (1, None)
    >>> sorted(workload.to_json())
    ['dpopt_workload', 'fingerprint', 'workload']
    """

    schema: Schema
    queries: Clauses | MarginalSet
    specification: Mapping[str, object]
    fingerprint: str = ""
    _written: list[Clauses] = field(init=False, repr=False, default_factory=list)  # the cells, once asked for

    def __post_init__(self) -> None:
        if len(self) == 0:
            raise WorkloadError("a workload needs at least one query, found none")
        self.queries.check_against(self.schema.sizes)
        computed = self.queries.fingerprint()
        if self.fingerprint not in ("", computed):
            raise WorkloadError(
                f"the queries have the fingerprint {computed}, expected {self.fingerprint}: "
                "the schema or the specification has changed since it was written"
            )
        object.__setattr__(self, "fingerprint", computed)
        object.__setattr__(self, "specification", MappingProxyType(copy.deepcopy(dict(self.specification))))

    def __reduce__(self) -> tuple[type[Workload], tuple[Schema, Clauses | MarginalSet, dict[str, object], str]]:
        # What was written out is left behind; unpickling checks the fingerprint.
        return Workload, (self.schema, self.queries, dict(self.specification), self.fingerprint)

    def __len__(self) -> int:
        """Return the number of base queries m; nothing is written out for it."""
        queries = self.queries
        return queries.number_of_cells if isinstance(queries, MarginalSet) else len(queries)

    def _said(self) -> list[str]:
        form = self.specification.get("workload")
        listed = "marginals by name" if "marginals" in self.specification else "listed"
        return [listed if form is None else str(form), f"{len(self):,} queries", f"{len(self.schema):,} attributes"]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return ("query",), ((self.describe(place),) for place in range(min(len(self), 5)))

    @property
    def marginals(self) -> MarginalSet | None:
        """The marginals whose cells are the queries, or None where the queries are other clauses."""
        return self.queries if isinstance(self.queries, MarginalSet) else None

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """Positions of the items by popularity, the most popular first, where the workload is about popular items."""
        text = self.specification.get("ranks")
        return None if text is None else ranks_from_text(text)

    @property
    def clauses(self) -> Clauses:
        """The base queries one by one; those of marginals are written out on the first use and then kept.

        Raises WorkloadError if the marginals have more than 50 million cells.
        """
        if not isinstance(self.queries, MarginalSet):
            return self.queries
        if not self._written:
            self._written.append(self.queries.clauses())
        return self._written[0]

    def describe(self, i: int) -> str:
        """Return query i in words; nothing else is written out for it."""
        if isinstance(self.queries, MarginalSet):
            return self.queries.clause_of(i).describe(0, self.schema)
        return self.queries.describe(i, self.schema)

    def answers_on(
        self, records: NDArray[np.int32], weights: NDArray[np.float64] | None = None, *, threads: int = USUAL
    ) -> NDArray[np.float64]:
        """Return the share of the records, or of their weight, for which each query is true, (m,) in [0, 1].

        `records` (r, d) are codes, one record per row, r >= 1. `weights` (r,) are nonnegative, not all zero, 1 each if left
        out; they are divided by their sum.

        Raises SchemaError if the records do not fit the schema, there is none, or the weights do not fit them.
        """
        from dpopt.queries.counting.kernels import shares_on_records

        return shares_on_records(self.queries, records, self.schema.sizes, weights, threads=threads)

    def to_json(self) -> dict[str, object]:
        """Return a JSON object from which `workload_from_json` builds the same workload, and checks that it does."""
        return {**copy.deepcopy(dict(self.specification)), "fingerprint": self.fingerprint}


def parse_workload(text: str, schema: Schema) -> Workload:
    """Return the workload that a short form or a JSON file specifies.

    Parameters
    ----------
    text
        - `marginals:3`: all cells of all marginals over 3 attributes;
        - `marginals:3,count=64,seed=1`: of 64 distinct marginals chosen at random (seed 0 if left out);
        - `conjunctions:3,count=500000,seed=7`: random conjunctions of 3 literals over distinct attributes, values
          uniform among the declared ones (missing included), "=" or "!=" with probability 1/2;
        - `threshold:2of4,count=100000,seed=7`: at least 2 of 4 such literals are true;
        - `parity:3,count=100000,seed=7`: an odd number of 3 conditions "attribute = value" is true, drawn alike ("!="
          would give the negation at most, which every workload holds as well);
        - `parity:3`: the parities of all sets of 3 attributes, each of two values;
        - any of these with `,occurring`: only values that the schema declares as occurring;
        - `popular:3,count=500000,seed=7,ranks=FILE`: random conjunctions of 3 literals "= 1" or "!= 1" over distinct binary
          attributes, each with probability proportional to 1 / rank (`,exponent=0.5`: to 1 / rank^0.5; 0, 0.5, 1, 1.5 or 2);
          the file ranks them, one name or column number on each line, the most popular first;
        - this and `conjunctions:...` with `,positive`: no "!=", and of two values always the second;
        - the path of a JSON file (see `workload_from_json`).
    schema
        The public schema.

    Raises
    ------
    WorkloadError
        If the text has another form, or there are more than 50 million queries, or 2 billion cells of marginals
        (refused before anything is built).

    Examples
    --------
    >>> import dpopt
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> dpopt.parse_workload("marginals:1", schema)
    Workload(marginals:1, 2 queries, 1 attributes)
    """
    if is_short_form(text):
        form = ShortForm.parse(text)
        ranks = None if form.ranks_file is None else read_ranks(form.ranks_file, schema)
        return _from_short_form(form, ranks, schema)
    if text.endswith(".json") or Path(text).is_file():
        return workload_from_json(read_json_object(text, "workload", WorkloadError), schema)
    raise WorkloadError(f"the workload {text!r} has no known form; expected {FORMS}")


def workload_from_json(obj: Mapping[str, object], schema: Schema) -> Workload:
    """Return the workload that a JSON object specifies.

    Parameters
    ----------
    obj
        `{"dpopt_workload": 1, ...}` with exactly one of
        - `"workload"`: a short form of `parse_workload`; one of popular items goes with `"ranks"`: one text of column numbers,
          the most popular first, such as "12 5 88", and names no file;
        - `"marginals"`: lists of attribute names, such as [["age", "sex"], ["race"]], optionally `"occurring": true`;
        - `"queries"`: each a conjunction as a list of literals [name, "=" or "!=", value], or an object
          {"literals": [...], "accepted": [numbers of true literals]};
        and optionally `"fingerprint"`, which is then checked.
    schema
        The public schema.
    """
    spec = json_object(dict(obj) if isinstance(obj, Mapping) else obj, "workload", WorkloadError)
    version = spec.get("dpopt_workload")
    if version != WORKLOAD_VERSION or isinstance(version, bool):
        found = shown(version) if "dpopt_workload" in spec else "no such key"
        raise WorkloadError(f'workload: expected "dpopt_workload": {WORKLOAD_VERSION}, found {found}')
    forms = ("workload", "marginals", "queries")
    refuse_unknown_keys(
        spec, ("dpopt_workload", *forms, "occurring", "ranks", "fingerprint"), "workload", WorkloadError
    )
    given = [key for key in forms if key in spec]
    if len(given) != 1:
        raise WorkloadError(f"workload: expected exactly one of the keys {', '.join(forms)}; found {len(given)}")
    fingerprint = spec.get("fingerprint", "")
    if not isinstance(fingerprint, str):
        raise WorkloadError(f"workload: 'fingerprint' is text, found {shown(fingerprint)}")
    occurring = spec.get("occurring", False)
    if not isinstance(occurring, bool) or ("occurring" in spec and given[0] != "marginals"):
        raise WorkloadError("workload: 'occurring' is true or false, and goes with 'marginals' only")
    canonical: dict[str, object] = {"dpopt_workload": WORKLOAD_VERSION}
    if given[0] == "workload":
        text = spec["workload"]
        if not isinstance(text, str):
            raise WorkloadError(f"workload: 'workload' is a short form such as \"marginals:3\", found {shown(text)}")
        form = ShortForm.parse(text)
        if form.ranks_file is not None:
            raise WorkloadError(
                "workload: 'workload' names a file of ranks; a JSON file keeps the ranks themselves, under the key "
                "'ranks'"
            )
        ranks = ranks_from_text(spec["ranks"]) if "ranks" in spec else None
        return _from_short_form(form, ranks, schema, fingerprint)
    if "ranks" in spec:
        raise WorkloadError("workload: 'ranks' goes with 'workload': 'popular:K,...' only")
    canonical[given[0]] = spec[given[0]]
    if given[0] == "marginals":
        if occurring:
            canonical["occurring"] = True
        domains = Domains.of(schema, occurring=occurring)
        return Workload(schema, named_marginals(spec["marginals"], schema, domains), canonical, fingerprint)
    return Workload(schema, listed_queries(spec["queries"], schema), canonical, fingerprint)


def _from_short_form(
    form: ShortForm, ranks: NDArray[np.int64] | None, schema: Schema, fingerprint: str = ""
) -> Workload:
    specification: dict[str, object] = {"dpopt_workload": WORKLOAD_VERSION, "workload": form.text()}
    if ranks is not None:
        specification["ranks"] = ranks_to_text(ranks)
    return Workload(schema, form.queries(schema, ranks), specification, fingerprint)
