"""sanitizers: the paper's own release of any family of polynomials, noise of one scale on all of their coefficients.

Thaler, Ullman and Vadhan 2012, Theorems 3.1 and 3.2, with exact sensitivities beside the paper's; its monomials for
disjunctions, conjunctions and r-of-k. `dpopt.synopses.summaries` is what one would use instead.

| file | what it holds |
|---|---|
| symmetric_families.py | families for OR, AND and "at least r of k" |
| sanitizer_plan.py | the plan: unit, noise, what is predicted and what the theorems promise |
| release_sanitizer.py | from a table behind its door to a release |
| sanitized.py | the release: answers with bounds; its file |
"""
