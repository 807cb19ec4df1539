"""What a record may be: attributes with their values or bins, and rules on records. Public.

In: declarations, or their JSON form. Out: `Schema`, `Attribute`, `ThresholdCircuit` (the rules, as gates over codes).
Holds no data.

| file | what it holds |
|---|---|
| attribute.py, schema.py | the public schema, its checks and its JSON form |
| finer.py | finer bins of numeric attributes, by a public rule |
| arrow_names.py | the Arrow types that columns of an attribute can have |
| dates.py | forms of dates and times, and their numbers |
| declared.py | what an attribute declares, in words, for pages and the shell |
| lengths.py | columns that are lengths after others, and what files hold of them |
| binary_attributes.py | the attributes of a wide table of zeros and ones, by their number |
| domains.py | the numbers of values of attributes |
| rules/ | rules on records as users declare them, and their passage to gates |
"""

from __future__ import annotations

from dpopt.schema.rules.builders import (
    all_of,
    allowed,
    any_of,
    at_least,
    at_most,
    compare,
    count,
    determines,
    equivalent,
    exactly,
    forbid,
    forbidden,
    implies,
    literal,
    negation,
    ordered,
)
from dpopt.schema.rules.rule import Rule
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.schema.rules.values import Bin
from dpopt.schema.schema import Attribute, AttributeKind, Schema

__all__ = [
    "Attribute",
    "AttributeKind",
    "Bin",
    "Rule",
    "Schema",
    "ThresholdCircuit",
    "all_of",
    "allowed",
    "any_of",
    "at_least",
    "at_most",
    "compare",
    "count",
    "determines",
    "equivalent",
    "exactly",
    "forbid",
    "forbidden",
    "implies",
    "literal",
    "negation",
    "ordered",
]
