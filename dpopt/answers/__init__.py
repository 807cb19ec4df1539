"""Answers with intervals: what a release measured says of counts, shares, means, quantiles and regressions.

| file | question |
|---|---|
| questions.py | What does a text ask for? |
"""
