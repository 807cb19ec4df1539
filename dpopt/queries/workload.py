"""Workloads: the queries that a run answers, how they were specified, and a fingerprint that never changes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.explicit import listed_queries, named_marginals
from dpopt.queries.generation import Domains
from dpopt.queries.json_files import json_object, read_json_object, refuse_unknown_keys, shown
from dpopt.queries.schema import Schema
from dpopt.queries.short_forms import FORMS, ShortForm, is_short_form

WORKLOAD_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """m queries over a schema, in a fixed order.

    The queries are stored once; algorithms treat a workload as closed under negation (2 m signed queries).

    Parameters
    ----------
    schema
        The public schema.
    clauses
        The m base queries, m >= 1.
    specification
        The canonical JSON object from which `workload_from_json` builds the same clauses.
    fingerprint
        SHA-256 of the clauses in their order. Computed if left out, checked if given.

    Raises
    ------
    WorkloadError
        If there is no query, a clause does not fit the schema, or the fingerprint is another one.
    """

    schema: Schema
    clauses: Clauses
    specification: Mapping[str, object]
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if len(self.clauses) == 0:
            raise WorkloadError("a workload needs at least one query, found none")
        self.clauses.check_against(self.schema.sizes)
        computed = self.clauses.fingerprint()
        if self.fingerprint not in ("", computed):
            raise WorkloadError(
                f"the queries have the fingerprint {computed}, expected {self.fingerprint}: "
                "the schema or the specification has changed since it was written"
            )
        object.__setattr__(self, "fingerprint", computed)
        object.__setattr__(self, "specification", MappingProxyType(copy.deepcopy(dict(self.specification))))

    def __reduce__(self) -> tuple[type[Workload], tuple[Schema, Clauses, dict[str, object], str]]:
        return Workload, (self.schema, self.clauses, dict(self.specification), self.fingerprint)

    def __len__(self) -> int:
        """Return the number of base queries m."""
        return len(self.clauses)

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
        - the path of a JSON file (see `workload_from_json`).
    schema
        The public schema.

    Raises
    ------
    WorkloadError
        If the text has another form, or there are more than 50 million queries (refused before anything is built).
    """
    if is_short_form(text):
        return _from_short_form(text, schema)
    if text.endswith(".json") or Path(text).is_file():
        return workload_from_json(read_json_object(text, "workload", WorkloadError), schema)
    raise WorkloadError(f"the workload {text!r} has no known form; expected {FORMS}")


def workload_from_json(obj: Mapping[str, object], schema: Schema) -> Workload:
    """Return the workload that a JSON object specifies.

    Parameters
    ----------
    obj
        `{"dpopt_workload": 1, ...}` with exactly one of
        - `"workload"`: a short form of `parse_workload`;
        - `"marginals"`: lists of attribute names, such as [["age", "sex"], ["race"]], optionally `"occurring": true`;
        - `"queries"`: each a conjunction as a list of literals [name, "=" or "!=", value], or an object
          {"literals": [...], "accepted": [numbers of true literals]};
        and optionally `"fingerprint"`, which is then checked.
    schema
        The public schema.

    Raises
    ------
    WorkloadError
        If the object has another form or does not fit the schema, or the fingerprint is another one.
    """
    spec = json_object(dict(obj), "workload", WorkloadError)
    version = spec.get("dpopt_workload")
    if version != WORKLOAD_VERSION or isinstance(version, bool):
        found = shown(version) if "dpopt_workload" in spec else "no such key"
        raise WorkloadError(f'workload: expected "dpopt_workload": {WORKLOAD_VERSION}, found {found}')
    forms = ("workload", "marginals", "queries")
    refuse_unknown_keys(
        spec, ("dpopt_workload", *forms, "occurring", "fingerprint"), "workload", WorkloadError
    )
    given = [key for key in forms if key in spec]
    if len(given) != 1:
        raise WorkloadError(
            f"workload: expected exactly one of the keys {', '.join(forms)}; found {len(given)}"
        )
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
            raise WorkloadError(
                f"workload: 'workload' is a short form such as \"marginals:3\", found {shown(text)}"
            )
        return _from_short_form(text, schema, fingerprint)
    canonical[given[0]] = spec[given[0]]
    if given[0] == "marginals":
        clauses = named_marginals(spec["marginals"], schema, Domains.of(schema, occurring=occurring))
        if occurring:
            canonical["occurring"] = True
    else:
        clauses = listed_queries(spec["queries"], schema)
    return Workload(schema, clauses, canonical, fingerprint)


def _from_short_form(text: str, schema: Schema, fingerprint: str = "") -> Workload:
    form = ShortForm.parse(text)
    specification = {"dpopt_workload": WORKLOAD_VERSION, "workload": form.text()}
    return Workload(schema, form.clauses(schema), specification, fingerprint)
