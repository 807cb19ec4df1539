"""A script that a started process reads again does not release a second time, whatever started the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import multiprocessing, pandas, dpopt
age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65))
dpopt.sorted_counts(pandas.DataFrame({"age": [8, 30]}), dpopt.Schema((age,)), "age", epsilon=1)
print("released")
started = multiprocessing.get_context("spawn").Process(target=print)
started.start()
started.join()
"""


def test_what_stands_outside_the_main_block_is_released_once(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "released\n"
    assert "BudgetError: a started process reads this script again" in done.stderr
