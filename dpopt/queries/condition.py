"""A condition in text as cells: which combinations of the codes of its columns it is true of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import QuestionError, SchemaError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.rules.compile_rules import compile_rules
from dpopt.schema.rules.condition_text import ConditionReader
from dpopt.schema.rules.formula import Formula, literals_of
from dpopt.schema.rules.rule import Rule
from dpopt.schema.schema import Schema

MOST_CELLS = 2**22
"""Cells of the columns of a condition."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Which records are counted: those in some cells of one marginal."""

    text: str
    marginal: MarginalSet
    """One marginal, of the columns that the condition names."""
    cells: NDArray[np.bool_]
    """Shape (cells,). Where it is true, the last column running fastest."""

    @classmethod
    def of(cls, text: str, schema: Schema) -> Condition:
        """Read a condition on the columns of a schema.

        Raises QuestionError if the text is none, or names columns with too many combinations of values.

        Examples
        --------
        >>> import dpopt
        >>> job = dpopt.Attribute("job", dpopt.AttributeKind.CATEGORICAL, ("nurse", "cook"))
        >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60))
        >>> Condition.of("age >= 40 or job = cook", dpopt.Schema((job, age))).cells.tolist()
        [False, True, False, True, True, True]
        """
        reader = ConditionReader(text, schema.attributes)
        formula = reader.condition()
        if reader.rest:
            raise reader.problem("'and', 'or', or the end")
        columns = list(dict.fromkeys(schema.index(one.attribute) for one in literals_of(formula)))
        domains = Domains.of(schema, occurring=False)
        codes = codes_of_cells(text, domains, columns)
        marginal = MarginalSet(domains, np.array([columns], dtype=np.int32))
        return cls(text.strip(), marginal, freeze(cells_where(formula, text, schema, codes)))

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions of its columns in the schema."""
        return tuple(self.marginal.attributes[0].tolist())


def codes_of_cells(
    text: str, domains: Domains, columns: Sequence[int], groups: Iterable[int] = ()
) -> dict[int, NDArray[np.int32]]:
    """Return the codes of each column in all cells of some columns, (cells,) each, the last column running fastest.

    Raises QuestionError, about the text, if these and the columns that make groups have too many cells together.
    """
    if (many := prod(int(domains.counts[one]) for one in {*groups, *columns})) > MOST_CELLS:
        raise QuestionError(f"{text!r} needs {many:,} cells; at most {MOST_CELLS:,}: ask about fewer columns")
    shape = tuple(int(domains.counts[one]) for one in columns)
    places = np.indices(shape).reshape(len(columns), prod(shape))
    return {one: domains.codes_of(one)[at] for one, at in zip(columns, places, strict=True)}


def cells_where(
    formula: Formula, text: str, schema: Schema, codes: Mapping[int, NDArray[np.int32]]
) -> NDArray[np.bool_]:
    """Return for which cells, given their codes of each column, (cells,) each, a formula is true.

    Raises QuestionError, about the text, if the formula does not fit the schema.
    """
    columns = list(codes)
    try:
        circuit = compile_rules(
            (Rule(formula),),
            [schema.attributes[one] for one in columns],
            lambda name: columns.index(schema.index(name)),
        )
    except SchemaError as problem:
        why = str(problem.__cause__ or problem)
        if '{"' in why:  # advice in the form of rules
            why = f"{why.partition(';')[0]}; name edges of bins, or a whole bin as its label, such as '[0, 10)'"
        raise QuestionError(f"{text!r}: {why}") from None
    return np.asarray(~circuit.broken(np.stack([codes[one] for one in columns], axis=1).astype(np.int32))[:, 0])
