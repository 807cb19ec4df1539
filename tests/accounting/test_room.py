from __future__ import annotations

import subprocess
import sys

import dpopt.accounting


def test_the_room_loads_without_scipy() -> None:
    code = (
        "import sys, dpopt.accounting; sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_exists_and_is_documented() -> None:
    for name in dpopt.accounting.__all__:
        thing = getattr(dpopt.accounting, name)
        assert isinstance(thing, float) or thing.__doc__


def test_every_theorem_names_its_source() -> None:
    names = ["zcdp_delta", "zcdp_epsilon", "zcdp_rho", "gdp_delta", "gdp_epsilon", "gdp_mu", "total_rho"]
    for name in [*names, "draw_range", "dualquery_epsilon", "Accountant"]:
        assert "Source:" in str(getattr(dpopt.accounting, name).__doc__)
