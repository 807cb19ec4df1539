"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind a curator, a solver. Out: a release folder that is publishable at every
instant, and the same as values. May import every other room but `dpopt.cli`. A driver's control flow depends on the plan and
on released values only.

| file | what it holds |
|---|---|
| options.py | what a user may say of each algorithm, as a frozen dataclass with help and checks; loads nothing |
| registry.py | every algorithm as a value: its options, plans, predictions, proofs and driver, loaded when used |
| asked.py | the terms of a release, whichever its algorithm; what was asked of a run |
| choosing.py, stating.py, explain.py | which algorithm `auto` takes; what is refused and known beforehand; its cost |
| public_baselines.py, assumed_density.py | trivial data sets on public tables; the assumed share of ones of a wide table |
| memory.py | the memory that a run will take |
| synthesize.py, release.py, replay.py | from a table to a release, resume included; the release rebuilt |
| release_folder.py, statement.py, synthetic_release.py | the release folder; release.json; a release as a value |
| stated_privacy.py | the privacy that a file states, compared with what its own plan costs |
| evaluate.py | a release against its table; NOT private |
| run_log.py | the log of a run |
| dualquery/ | DualQuery and DQRS |
| fem/ | FEM and sepFEM |
| measured/ | noise, projection and adaptive |
| multiplicative_weights/ | pmw and mwem |
| small_database/ | SmallDB, and draws from any other net |
| after/ | certified and reweighted releases |

A new algorithm is its options in options.py, a folder with a plan type, a maker of plans, a driver
(`dpopt.releases.run.Driver`), and a line in registry.py. release.py, replay.py and the command line then need nothing new.
"""
