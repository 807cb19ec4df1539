"""Cross-check against dp_accounting, which computes the same conversion over a fixed list of orders."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.conversions import gdp_epsilon, zcdp_epsilon
from dpopt.accounting.dualquery import plan_charges, run_columns
from dpopt.accounting.relations import NeighbouringRelation

peer = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed (extra 'test')")

ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 4000)


def peer_epsilon(rho: float, delta: float) -> float:
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(orders=ORDERS, neighboring_relation=peer.NeighboringRelation.REPLACE_ONE)
    accountant.compose(peer.ZCDpEvent(rho))
    return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
def test_zcdp_converts_as_in_dp_accounting(rho: float, delta: float) -> None:
    ours, theirs = zcdp_epsilon(rho, delta), peer_epsilon(rho, delta)
    assert ours <= theirs * (1.0 + 1e-12)  # every order is valid, ours is the best
    assert theirs <= ours * (1.0 + 1e-4) + 1e-12


def test_a_dualquery_run_costs_as_in_dp_accounting() -> None:
    relation = NeighbouringRelation.REPLACE_ONE
    rho = columns_of(plan_charges(170, 1750, 1.2, 494021, relation)).rho()
    ours = run_columns(170, 1750, 1.2, 494021, relation).epsilon(Accountant.ZCDP, 1e-3)
    assert ours == pytest.approx(peer_epsilon(rho, 1e-3), rel=1e-5)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 100.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gdp_converts_as_in_dp_accounting(sigma: float, delta: float) -> None:
    assert gdp_epsilon(1.0 / sigma, delta) == pytest.approx(peer.get_epsilon_gaussian(sigma, delta), rel=1e-8)
