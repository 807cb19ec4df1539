"""The shared parts of all releases, whatever the algorithm: files, output, ledgers, progress and the choice of solvers.

In: finished records, plans as JSON. Out: files.

| file | what it holds |
|---|---|
| ledgers.py | makes every ledger: reserves within the budget of the plan, and in the owner's budget |
| folder_files.py | the names of the files of a release folder, and how they are written |
| kept_records.py | what a round released, how its record is kept, and the rounds as a table |
| rows.py | the rows without weights that stand for weighted records |
| table_output.py | synthetic records and noisy answers as files |
| wide_output.py | wide records of zeros and ones as files |
| solver_choice.py, rule_conflicts.py | solvers and formulations by name; whether rules can be obeyed and taken |
| plan.py | what plans of all algorithms have in common, and checks of numbers that users give |
| job.py | the public inputs of a run; formats and their limits |
| run.py | the steps of a run, and what it ends with |
| measured_size.py, declared_size.py | the number of records: measured; declared, and held against what was released |
| values.py, column_values.py, value_kernels.py | numbers within bins: what is measured of them, and what is drawn from that |
| records.py | the synthetic records, as values |
| descriptions/ | what is said of a release: verdict, guarantee, warnings, README.txt |
| remembered_tables.py | which tables were released without a budget file, for their owner |
| progress.py | how a driver reports progress |
| public_population/ | public records and choices that plans are simulated on |
"""
