"""Drivers: plan, run, release; short, in the paper's order.

In: a schema, a workload, a budget, a table behind a curator, a solver. Out: a release folder that is publishable at every
instant, and the same as values. May import every other room but `dpopt.cli`. A driver's control flow depends on the plan and
on released values only.

| file | what it holds |
|---|---|
| settings.py, plan_request.py | what a user may say; what of it a plan needs |
| registry.py | every algorithm as a value: its plans, predictions, proofs and driver |
| any_plan.py, outcome.py | what all algorithms share: plans, and what a run ends with |
| choosing.py, stating.py | which algorithm `auto` takes; what is known of a plan before any record is read |
| stated_privacy.py | what a file says of its privacy, held against what its own plan costs |
| plan.py, planning.py, budget_fit.py | the plan of DualQuery, and the way to it from a budget |
| explain.py, accuracy.py, simulation.py | what a plan costs, promises and is predicted to do |
| public_table.py, public_baselines.py | the public table of predictions; trivial data sets on it |
| binary_population.py, binary_simulation.py, assumed_fill.py | the same for wide tables; their assumed share of ones |
| dualquery.py, play_dualquery.py, past.py, dualquery_statement.py | DualQuery: the rounds, from a job to an outcome |
| measured_plan.py, measured_planning.py, candidates.py | the plans of noise, projection and adaptive |
| measured.py, play_measured.py, measured_past.py, fitting.py | their driver; records fitted to noisy counts |
| measured_simulation.py, measured_accuracy.py, fem_simulation.py | their predicted errors, and those of FEM |
| fem.py, fem_plan.py, play_fem.py, perturbed_responder.py | FEM and sepFEM |
| dqrs.py, dqrs_plan.py | DQRS |
| multiplicative.py, play_multiplicative.py, multiplicative_past.py | pmw and mwem: the driver; the transcript read back |
| multiplicative_plan.py, multiplicative_planning.py | their plans, and the way to them from a budget |
| multiplicative_universe.py, multiplicative_learner.py | their universe, and the distribution that learns |
| multiplicative_accuracy.py, multiplicative_simulation.py | what is proven of them, and predicted |
| play_small_database.py, small_database_plan.py, small_database_planning.py, small_database_bounds.py | SmallDB |
| small_database_universe.py, small_database_simulation.py, net_release.py | its universe and predicted errors; any other net |
| asked.py, measured_size.py, sized_release.py | where the number of records is measured: what was asked, the number, the job |
| synthesize.py, job.py, release.py, replay.py | from a table to a release, resume included; the release rebuilt |
| reweighting.py, reweighted_release.py | likelier weights for the records of DualQuery; the release with them |
| release_folder.py, statement.py, write_answers.py | the release folder; release.json; noisy answers as a file |
| memory.py | the memory that a run will take |
| synthetic.py, synthetic_release.py | the synthetic records, as values and as files |
| output_format.py, write_wide.py | formats and their limits; wide records of zeros and ones as files |
| free_attributes.py | what fills attributes that no drawn query speaks of |
| certify.py, certify_report.py, certified_accuracy.py | bounds for a finished run of DualQuery, and what they prove |
| evaluate.py | a release against its table; NOT private |
| run_log.py, round_figures.py | the log of a run, a line for each round |

A new algorithm is a plan type, a maker of plans, a driver with its `play` and `rebuild`, and a line in registry.py. Options
that it takes are in settings.py. release.py, replay.py and the command line then need nothing new.
"""
