"""A page on this machine for owners who do not use a shell: from a file to a release, step by step.

In: a browser on the same machine that knows the token. Out: pages without scripts, and release folders. Everything goes
through the public functions of `dpopt`; a release runs in a process of its own, which can be stopped and continued.

| file | what it holds |
|---|---|
| application.py | addresses and pages; who may ask for them |
| tables.py | what one table has come to: draft, rules, plan, run, result; its steps as commands and as a notebook |
| forms.py | what forms say of a column and of a rule; where a curve of errors is drawn |
| worker.py | the process of one release |
"""
