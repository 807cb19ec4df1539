"""What can be asked of a table. Holds no data, only what is public.

Comes in: the public schema (attributes with their values or bins, rules on records) and the text that names a workload.
Goes out: `Schema`, `ThresholdCircuit` (its rules, as gates over codes), `Clauses` (millions of queries as four arrays),
`MarginalSet` (cells of marginals, as shapes), `Workload`; and, as pure functions of arrays in `dpopt.queries.kernels`,
`counting`, `marginal_kernels` and `answer_kernels`, how many records satisfy each clause or lie in each cell.
May import: `dpopt.errors`, numpy; numba only in the files named kernels or ..._kernels, compiled, compilation, and in
counting, bitmaps, ..._counts, which use them: these are therefore not imported here but by their users.

| file | what it holds |
|---|---|
| attribute.py, schema.py, schema_json.py | the public schema, its checks and its JSON form |
| binary_attributes.py | the attributes of a wide table of zeros and ones, by their number |
| binary_columns.py, binary_kernels.py | columns of zeros and ones, as lists of ones or as bits |
| bit_records.py | public records of zeros and ones as bits |
| counting.py | counting clauses on columns, however they are kept |
| bitmaps.py, bitmap_counts.py, set_count_kernels.py | columns of bits in tiles; counting on them, singly or by sets |
| list_counts.py, list_clause_kernels.py, list_count_kernels.py | counting on columns that are lists of ones |
| resolved_kernels.py, working_threads.py | clauses over columns, in sets; work in threads, and what is told of it |
| named_attributes.py, subset_kernels.py | queries over their own attributes alone; all conjunctions of few literals, counted |
| rules/ | rules on records as users declare them, and their passage to gates; a room with a card of its own |
| threshold_circuit.py, circuit_kernels.py | the circuit: hard rules as solvers read them |
| clauses.py | literals and masks: conjunctions, negations, disjunctions, parities, r of k |
| domains.py, marginal_set.py, marginal_cells.py | marginals as shapes; their cells as clauses, some at a time |
| workload.py, short_forms.py, generation.py, explicit.py | short forms and JSON files that name queries, and these queries |
| item_workloads.py | random conjunctions over items of known popularity |
| bins.py, tree.py, hierarchy.py | the bins of a histogram; trees over them; hierarchies that a user declares |
| weighted_ranges.py, range_loads.py | which ranges of bins matter; how they lie in blocks |
| grids.py, box_cells.py, box_text.py | grids of cells over several columns; boxes that divide them; boxes as text |
| literals.py, chosen_literals.py | conjunctions of a few literals by number; the literals of a summary, and queries in words |
| answers.py | answers on cells by where they come from: records, the uniform distribution |
| halfspaces.py, halfspace_kernels.py | public projections of points, directions, queries of halfspaces; weighted sides |
| public_random.py | seeded numbers for choosing queries, the same for ever |
| kernels.py, packing_kernels.py, compiled.py, compilation.py | bit packing, counting, satisfaction |
| marginal_kernels.py, answer_kernels.py | counting by cells; answers on records with weights |
| sensitivity.py, sensitivity_tables.py, sensitivity_messages.py | by how much one record moves the counts of clauses |
| sensitivity_kernels.py, sensitivity_limits.py | its inner loops, compiled, and their limits |
| decision_lists.py, list_coefficients.py, list_kernels.py | rows that are decision lists; what they count in conjunctions |
| monomials.py, polynomial_families.py, family_moves.py | monomials in 0/1 variables; a polynomial for each possible record |
| symmetric_family.py, table_family.py, function_family.py | the three kinds of such families |
| file_reading.py, strict_json.py, array_files.py | the one way to read a file: bytes and text, JSON, arrays; with limits |
| arrays.py, json_files.py | read-only arrays; JSON files, safe writing |
| written_files.py | how files come to be: whole or not at all, and with which permissions |

To add a family of queries: write its clauses in generation.py, its short form in short_forms.py, and pin one
fingerprint in tests/queries. Clauses with other masks need nothing new: the kernels count every mask.
"""

from __future__ import annotations

from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.rules.builders import (
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
from dpopt.queries.rules.rule import Rule
from dpopt.queries.rules.values import Bin
from dpopt.queries.schema import Attribute, AttributeKind, Schema
from dpopt.queries.threshold_circuit import ThresholdCircuit
from dpopt.queries.workload import Workload, parse_workload, workload_from_json

__all__ = [
    "Attribute",
    "AttributeKind",
    "Bin",
    "Clauses",
    "MarginalSet",
    "Rule",
    "Schema",
    "ThresholdCircuit",
    "Workload",
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
    "parse_workload",
    "workload_from_json",
]
