"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind a curator, a solver. Out: a release folder that is publishable at every
instant, and the same as values. May import every other room but `dpopt.cli`. A driver's control flow depends on the plan and
on released values only.

| file | what it holds |
|---|---|
| settings.py, plan_request.py | what a user may say; what of it a plan needs |
| any_plan.py, plans.py, players.py, outcome.py | what all algorithms share: plans, makers, drivers, what a run ends with |
| choosing.py, stating.py | which algorithm `auto` takes; what is known of a plan before any record is read |
| plan.py, planning.py, budget_fit.py | the plan of DualQuery, and the way to it from a budget |
| explain.py, accuracy.py, simulation.py, population.py | what a plan costs, promises and is predicted to do |
| dualquery.py, play_dualquery.py, past.py, dualquery_statement.py | DualQuery: the rounds, from a job to an outcome |
| measured_plan.py, measured_planning.py, candidates.py | the plans of noise, projection and adaptive |
| measured.py, play_measured.py, measured_past.py, fitting.py | their driver; records fitted to noisy counts |
| measured_simulation.py, measured_accuracy.py, fem_simulation.py | their predicted errors, and those of FEM |
| fem.py, fem_plan.py, play_fem.py, perturbed_responder.py | FEM and sepFEM |
| dqrs.py, dqrs_plan.py | DQRS |
| play_small_database.py, small_database_plan.py, small_database_planning.py, small_database_bounds.py | SmallDB |
| small_database_universe.py, small_database_simulation.py, net_release.py | its universe and predicted errors; any other net |
| synthesize.py, job.py, release.py, replay.py | from a table to a release, resume included; the release rebuilt |
| release_folder.py, folder_files.py, statement.py, write_answers.py | the folder, its files, release.json; noisy answers |
| new_files.py | whether a new file can be written, asked before a draw |
| kept_records.py, memory.py | how a round's record is kept and written; the memory that a run will take |
| synthetic.py, synthetic_release.py, write_records.py, table_output.py | the synthetic records, as values and as files |
| output_format.py, write_wide.py, wide_output.py | formats and their limits; wide records of zeros and ones as files |
| free_attributes.py, public_choice.py | what fills attributes that no drawn query names; public random choices |
| solver_choice.py, rule_conflicts.py | solvers and formulations by name; whether rules can be obeyed and taken |
| certify.py, certify_report.py, certified_accuracy.py | bounds for a finished run of DualQuery, and what they prove |
| evaluate.py | a release against its table; NOT private |
| demo_population.py, progress.py | the demonstration's people; how a driver tells where it stands |
| run_log.py, round_figures.py | the log of a run, a line for each round |
| sanitizers/ | the paper's own release of families of polynomials; a room with a card of its own |
| comparison/ | solvers held against each other; a room with a card of its own |

A new algorithm is a plan type with its reader in any_plan.py, a maker of plans in plans.py, a driver with its `play` and
`rebuild` in players.py, a name in settings.py and, where `auto` may take it, a prediction in choosing.py. release.py, replay.py
and the command line then need nothing new.
"""
