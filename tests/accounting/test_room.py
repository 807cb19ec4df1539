from __future__ import annotations

import subprocess
import sys

from dpopt.accounting import accountants, conversions, dualquery


def test_the_room_loads_without_scipy() -> None:
    code = (
        "import sys, dpopt.accounting.dualquery, dpopt.accounting.ledger, "
        "dpopt.accounting.many_releases, dpopt.accounting.measurements, dpopt.accounting.selections; "
        "sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_theorem_names_its_source() -> None:
    named = {
        conversions: ["zcdp_epsilon", "zcdp_rho", "gdp_delta", "gdp_epsilon"],
        accountants: ["Accountant"],
        accountants.ChargeColumns: ["rho"],
        dualquery: ["draw_range", "run_columns"],
    }
    for module, names in named.items():
        for name in names:
            assert "Source:" in str(getattr(module, name).__doc__)
