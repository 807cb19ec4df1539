"""The room where privacy is paid for: charges, composition theorems, conversions, ledger.

Comes in: parameters of mechanisms (step, draws, rounds, public n; noise scales) and a budget. No records, no
    queries, no answers.
Goes out: `Charge`s, totals in epsilon, delta and rho that are never below the exact value, and a `Ledger` that
    checks before it spends.
May import: `dpopt.errors`; numpy, and scipy inside functions.
To add a mechanism: a function that returns its `Charge` (kind, parameter, relation, theorem), in a file of its
    own.
To add a composition theorem: a member of `Accountant`, its case in `ChargeColumns.epsilon`, and its numbers in
    tests/accounting.

Every number holds under one neighbouring relation, and every charge names it.
"""

from __future__ import annotations

from dpopt.accounting.accountants import Accountant, total_epsilon, total_rho
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import gdp_delta, gdp_epsilon, gdp_mu, zcdp_delta, zcdp_epsilon, zcdp_rho
from dpopt.accounting.dualquery import (
    SAMPLER_SLACK,
    draw_charge,
    draw_range,
    dualquery_epsilon,
    dualquery_rho,
    largest_rounds,
    plan_charges,
)
from dpopt.accounting.ledger import Budget, Ledger, PrivacySpent
from dpopt.accounting.measurements import amount_for, measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range, selection_charge, selection_range

__all__ = [
    "SAMPLER_SLACK",
    "Accountant",
    "Budget",
    "Charge",
    "ChargeKind",
    "Ledger",
    "NeighbouringRelation",
    "PrivacySpent",
    "amount_for",
    "draw_charge",
    "draw_range",
    "dualquery_epsilon",
    "dualquery_rho",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "largest_rounds",
    "measurement_charge",
    "measurement_scale",
    "plan_charges",
    "score_range",
    "selection_charge",
    "selection_range",
    "total_epsilon",
    "total_rho",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
