"""Queries that a JSON file lists one by one: marginals by the names of their attributes, clauses by their literals."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dpopt.arrays import freeze
from dpopt.errors import SchemaError, WorkloadError
from dpopt.files.json_files import json_list, json_object, refuse_unknown_keys, shown
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.families import listed_marginals
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.rules.code_sets import code_of_number
from dpopt.schema.schema import Schema, code_of

Literal = tuple[int, int, bool]


def named_marginals(listed: object, schema: Schema, domains: Domains) -> MarginalSet:
    """Return marginals given as lists of attribute names."""
    marginals: list[list[int]] = []
    seen: set[frozenset[int]] = set()
    for number, item in enumerate(json_list(listed, "workload: 'marginals'", WorkloadError)):
        place = f"marginal number {number + 1}"
        names = json_list(item, place, WorkloadError)
        if not 1 <= len(names) <= LARGEST_WIDTH:
            raise WorkloadError(f"{place} names {len(names)} attributes; between 1 and {LARGEST_WIDTH} are possible")
        marginal = [_position(name, schema, place) for name in names]
        if len(set(marginal)) != len(marginal):
            raise WorkloadError(f"{place} names an attribute twice: {shown(names)}")
        if frozenset(marginal) in seen:
            raise WorkloadError(f"{place} has the same attributes as an earlier one: {shown(names)}; keep one of them")
        seen.add(frozenset(marginal))
        marginals.append(marginal)
    if not marginals:
        raise WorkloadError("workload: 'marginals' is empty; list at least one marginal")
    return listed_marginals(marginals, domains)


def listed_queries(listed: object, schema: Schema) -> Clauses:
    """Return clauses given as lists of literals.

    A query is a list of literals [name, "=" or "!=", value] that must all be true, or an object {"literals": [...],
    "accepted": [numbers of true literals for which the query is true]}.
    """
    queries = []
    for number, item in enumerate(json_list(listed, "workload: 'queries'", WorkloadError)):
        queries.append(_query(item, schema, f"query number {number + 1}"))
    if not queries:
        raise WorkloadError("workload: 'queries' is empty; list at least one query")
    width = max(len(literals) for literals, _ in queries)
    attributes = np.full((len(queries), width), -1, dtype=np.int32)
    values = np.zeros((len(queries), width), dtype=np.int32)
    signs = np.zeros((len(queries), width), dtype=np.bool_)
    for row, (literals, _) in enumerate(queries):
        attributes[row, : len(literals)] = [position for position, _, _ in literals]
        values[row, : len(literals)] = [code for _, code, _ in literals]
        signs[row, : len(literals)] = [sign for _, _, sign in literals]
    accepted = np.array([mask for _, mask in queries], dtype=np.uint32)
    return Clauses(freeze(attributes), freeze(values), freeze(signs), freeze(accepted))


def _query(item: object, schema: Schema, place: str) -> tuple[list[Literal], int]:
    numbers: object = None
    if isinstance(item, dict):
        described = json_object(item, place, WorkloadError)
        refuse_unknown_keys(described, ("literals", "accepted"), place, WorkloadError)
        if len(described) != 2:
            raise WorkloadError(f"{place}: an object needs both 'literals' and 'accepted', found {shown(item)}")
        item, numbers = described["literals"], described["accepted"]
    listed = json_list(item, place, WorkloadError)
    if not 1 <= len(listed) <= LARGEST_WIDTH:
        raise WorkloadError(f"{place} has {len(listed)} literals; between 1 and {LARGEST_WIDTH} are possible")
    literals = [_literal(literal, schema, place) for literal in listed]
    if len({position for position, _, _ in literals}) != len(literals):
        raise WorkloadError(f"{place} names an attribute twice; merge its two literals, or drop the query")
    if numbers is None:
        return literals, 1 << len(literals)
    mask = 0
    for number in json_list(numbers, f"{place}: 'accepted'", WorkloadError):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= len(literals):
            raise WorkloadError(
                f"{place}: 'accepted' lists numbers of true literals, 0 .. {len(literals)}; found {shown(number)}"
            )
        mask |= 1 << number
    return literals, mask


def _literal(item: object, schema: Schema, place: str) -> Literal:
    parts = json_list(item, f"{place}: a literal", WorkloadError)
    if len(parts) != 3 or parts[1] not in ("=", "!="):
        raise WorkloadError(f'{place}: a literal is [name, "=" or "!=", value], found {shown(item)}')
    position = _position(parts[0], schema, place)
    return position, _code(schema.attributes[position], parts[2], place), parts[1] == "="


def _position(name: object, schema: Schema, place: str) -> int:
    if not isinstance(name, str):
        raise WorkloadError(f"{place}: expected the name of an attribute, found {shown(name)}")
    try:
        return schema.index(name)
    except SchemaError as problem:
        raise WorkloadError(f"{place}: {problem}") from problem


def _code(attribute: Attribute, value: object, place: str) -> int:
    code = _bin(attribute, value) if attribute.kind is AttributeKind.NUMERIC else code_of(attribute, value)
    if code is None:
        labels = ", ".join(attribute.label(code) for code in range(min(attribute.size, 6)))
        more = f", ... ({attribute.size} in all)" if attribute.size > 6 else ""
        form = 'the label of a bin or {"bin": index}' if attribute.kind is AttributeKind.NUMERIC else "a declared value"
        if attribute.date_format is not None:
            form += f", or a date in the form {attribute.date_format!r} that has a bin of its own"
        raise WorkloadError(
            f"{place}: attribute {attribute.name!r} has no value {shown(value)}; expected {form} (or the missing "
            f"text, where declared): {labels}{more}"
        )
    return code


def _bin(attribute: Attribute, value: object) -> int | None:
    """Return the code of a bin; a bare number is refused, since it could mean a value as well as an index."""
    if attribute.missing is not None and (value is None or value in attribute.missing_texts):
        return attribute.missing_code
    bins = len(attribute.edges) - 1
    if isinstance(value, dict) and set(value) == {"bin"}:
        index = value["bin"]
        return index if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < bins else None
    for code in range(bins):
        if value == attribute.label(code):
            return code
    with suppress(SchemaError):
        return code_of_number(attribute, value) if isinstance(value, str) else None
    return None
