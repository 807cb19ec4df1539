from __future__ import annotations

from dpopt.comparison.parts import DEFECT, Row, claims_what_is_not_so, judged


def test_a_value_above_the_proven_bound_is_a_defect_of_dpopt_and_no_solvers_fault() -> None:
    row = judged(Row("a", "s", "optimal", "", value=9), 9, 7, None)
    assert row.remarks[0].startswith(
        f"{DEFECT}the proven bound 7 is below a value that was reached, 9: please report this"
    )
    assert "proven optimal" not in row.remarks
    assert not claims_what_is_not_so(row)


def test_no_row_is_proven_optimal_by_a_bound_that_another_one_disproves() -> None:
    row = judged(Row("a", "s", "time limit", "", value=7), 9, 7, None)
    assert "proven optimal" not in row.remarks
    assert "it proves nothing about this row" in row.remarks[0]
    assert judged(Row("a", "s", "time limit", "", value=7), 7, 7, None).remarks == ("proven optimal",)
