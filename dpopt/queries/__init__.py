"""Queries and workloads. Holds no data, only public objects.

In: the public schema and the text that names a workload. Out: `Clauses` (millions of queries as four arrays),
`MarginalSet` (cells of marginals, as shapes), `Workload`; and, as pure functions of arrays in `dpopt.queries.counting`,
how many records satisfy each clause or lie in each cell. Compiled loops are imported by their users, not here:
compiling takes time.

| file | what it holds |
|---|---|
| marginal_set.py | queries over their own attributes alone; marginals as shapes; their cells as clauses |
| associations.py | Cramer's V and correlation from the shares of pairs of values |
| condition.py | a condition in text as cells of one marginal |
| clauses.py | literals and masks: conjunctions, negations, disjunctions, parities, r of k |
| conjunctions/ | conjunctions of few literals, and monomials |
| counting/ | exact counts on arrays, by whatever kernel is the cheapest |
| decision_lists/ | rows that are decision lists |
| halfspaces/ | halfspaces of points, and public projections |
| polynomial_families.py | families of polynomials, one for each possible record |
| ranges/ | ranges and boxes of ordered bins, and trees over bins |
| distances.py | how far marginals are from public predictions, in whole numbers |
| residuals.py | what marginals say beyond those of fewer attributes, in whole numbers; marginals as sums of these |
| sensitivity/ | by how much one record moves the counts of clauses |
| workloads/ | workloads, and the texts and files that name them |

To add a family of queries: write its clauses in workloads/families.py, its short form in workloads/short_forms.py, and
pin one fingerprint in tests/queries. Clauses with other masks need nothing new: the kernels count every mask.
"""

from __future__ import annotations

from dpopt.queries.clauses import Clauses as Clauses
from dpopt.queries.marginal_set import MarginalSet as MarginalSet
from dpopt.queries.workloads.workload import Workload as Workload
from dpopt.queries.workloads.workload import parse_workload as parse_workload
from dpopt.queries.workloads.workload import workload_from_json as workload_from_json
