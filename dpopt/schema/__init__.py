"""The possible records: attributes with their values or bins, and rules on records. Public.

In: declarations, or their JSON form. Out: `Schema`, `Attribute`, `ThresholdCircuit` (the rules, as gates over codes).
Holds no data.

| file | what it holds |
|---|---|
| attribute.py, schema.py | the public schema, its checks and its JSON form |
| finer.py | finer bins of numeric attributes, by a public rule |
| arrow_names.py | the Arrow types that columns of an attribute can have |
| dates.py | forms of dates and times, and their numbers |
| lengths.py | columns that are lengths after others, and what files hold of them |
| binary_attributes.py | the attributes of a wide table of zeros and ones, by their number |
| domains.py | the numbers of values of attributes |
| rules/ | rules on records as users declare them, and their passage to gates |
"""

from __future__ import annotations

from dpopt.schema.rules.builders import all_of as all_of
from dpopt.schema.rules.builders import allowed as allowed
from dpopt.schema.rules.builders import any_of as any_of
from dpopt.schema.rules.builders import at_least as at_least
from dpopt.schema.rules.builders import at_most as at_most
from dpopt.schema.rules.builders import compare as compare
from dpopt.schema.rules.builders import count as count
from dpopt.schema.rules.builders import determines as determines
from dpopt.schema.rules.builders import equivalent as equivalent
from dpopt.schema.rules.builders import exactly as exactly
from dpopt.schema.rules.builders import forbid as forbid
from dpopt.schema.rules.builders import forbidden as forbidden
from dpopt.schema.rules.builders import implies as implies
from dpopt.schema.rules.builders import literal as literal
from dpopt.schema.rules.builders import negation as negation
from dpopt.schema.rules.builders import ordered as ordered
from dpopt.schema.rules.rule import Rule as Rule
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit as ThresholdCircuit
from dpopt.schema.rules.values import Bin as Bin
from dpopt.schema.schema import Attribute as Attribute
from dpopt.schema.schema import AttributeKind as AttributeKind
from dpopt.schema.schema import Schema as Schema
