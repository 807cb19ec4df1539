"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind a curator, a solver. Out: a release folder that is publishable at
every instant, and the same as values. A driver's control flow depends on the plan and on released values only.

| file | what it holds |
|---|---|
| options.py | the options of each algorithm, as a frozen dataclass with help and checks; loads nothing |
| algorithm.py, registry.py | what every algorithm gives; the table of all algorithms |
| terms.py | what a user says of a release: names, types, defaults and help, for Python and the command line |
| request.py | what a release is asked for, and its terms; workload, delta and share of ones where none is given |
| planned.py | a plan as a value and on file, for a release to take |
| public_release.py | releases of public tables, drawn by common random numbers; never private |
| stating.py | which algorithm `auto` takes; trivial data sets on public tables; what is refused and known beforehand |
| prediction.py | what the simulations of plans on public populations share |
| explain.py | what a plan costs, for people |
| memory.py | the memory that a run will take |
| release.py, run_release.py, replay.py | from a table to a release, resume included; the release rebuilt |
| release_folder.py, synthetic_release.py, synthesizer.py | the release folder; a release as a value, and as an estimator |
| statement.py | release.json; the privacy that a file states, compared with what its own plan costs |
| evaluate.py, evaluation.py | a release against its table, and what that says; NOT private |
| dualquery/ | DualQuery |
| fem/ | FEM |
| measured/ | noise and projection: counts, selected marginals, residuals |
| multiplicative_weights/ | pmw and mwem |
| small_database/ | SmallDB, and draws from any other net |
| after/ | certified, reweighted and judged releases |

A new algorithm is a folder with its options, plan and `Algorithm`, and its name in registry.py. release.py, replay.py
and the command line then need nothing new. CONTRIBUTING.md shows one.
"""
