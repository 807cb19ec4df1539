"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind the curator, a solver. Out: a release folder that is publishable at every
instant, and the same as values. May import every other room but `dpopt.cli`. A driver's control flow depends on the plan and
on released values only.

| file | what it holds |
|---|---|
| plan.py, plan_request.py, planning.py, budget_fit.py | the plan of a run, and the way to it from a budget |
| explain.py, accuracy.py, simulation.py, population.py | what a plan costs, promises and is predicted to do |
| dualquery.py | the driver: the rounds in the paper's order |
| synthesize.py, job.py, release.py | from a table to a finished release, resume included |
| past.py, replay.py | what the transcript of an earlier run holds, and the release rebuilt from it |
| release_folder.py, folder_files.py, statement.py | the folder, its files, release.json |
| synthetic.py, synthetic_release.py, write_records.py, table_output.py | the synthetic records, as values and as files |
| free_attributes.py, public_choice.py | what fills attributes that no drawn query names; public random choices |
| solver_choice.py, rule_conflicts.py | solvers and formulations by name; whether rules can be obeyed and taken |
| certify.py, certify_report.py, certified_accuracy.py | bounds for a finished run, and the accuracy that they prove |
| evaluate.py | a release against its table; NOT private |
| demo_population.py, progress.py | the demonstration's people; where a driver stands |
| comparison/ | solvers held against each other; a room with a card of its own |

A new algorithm is a driver file like dualquery.py, a plan type beside plan.py, and its way from a table to a folder: release.py
and replay.py call the driver, synthesize.py offers it to the command line and to Python.
"""
