"""The commands of a release of records, and those about schemas, solvers and the demonstration.

| file | what it holds |
|---|---|
| plan.py, release.py, demo.py | `dpopt plan`; `release` and `resume`; `demo` |
| schema.py | `dpopt schema infer` and `schema check`, and what the owner sees of rules |
| answer.py | `dpopt answer` |
| inspect.py | `dpopt replay`, `evaluate`, `report`, `inspect` and `solvers` |
| compare.py | `dpopt compare`: on problems, and whole releases of a public table; `bench`, `reproduce` |
| certify.py | `dpopt certify`; `reweight`: maximum-likelihood weights for a finished run |
| studio.py | `dpopt studio` |
| model.py | `dpopt model list`, `show`, `export` and `solve` |
"""
