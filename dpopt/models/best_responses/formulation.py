"""The ways to write a best response as a mixed-integer program."""

from __future__ import annotations

import enum


class Formulation(enum.Enum):
    """How the rows of clauses and rules are written; each has the same optimum, the later the better relaxation."""

    AGGREGATED = "aggregated"
    """One row per clause, every variable whole; as in the paper."""
    PER_LITERAL = "per-literal"
    """One row per literal that binds a clause by itself, variables continuous where the rows leave no choice."""
    CLIQUE = "clique"
    """PER_LITERAL, and what follows from "one code per attribute" for clauses that share a literal."""
