"""What a user may say of intervals and boxes, beside the table."""

from __future__ import annotations

from dataclasses import dataclass

from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError
from dpopt.synopses.histograms.histogram_settings import HistogramSettings
from dpopt.synopses.intervals.any_partition_plan import PartitionPlan
from dpopt.synopses.intervals.interval_planning import BETA, MEASURED, plan_intervals
from dpopt.synopses.intervals.split_planning import plan_split


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """What a user may say of intervals and boxes.

    Attributes
    ----------
    counts : HistogramSettings
        Budget, neighbours and the reading of the table; `ranges` and `hierarchy` are not used.
    n : int or None
        The public number of records: under add-remove a fixed number near it, measured with 1 % of the budget if left out;
        under replace it is read off the table.
    weights : str
        measured or printed, of one column.
    intervals : int or None
        The most intervals, of one column; None: the best number.
    cuts : int or None
        How often each column is cut, of several; None: the best number.
    atom : int
        The most records of one bin, for the error of printed weights.
    error : float or None
        The largest error that will do, as a share of the records.
    beta : float
        With which probability it may be exceeded.
    """

    counts: HistogramSettings
    n: int | None = None
    weights: str = MEASURED
    intervals: int | None = None
    cuts: int | None = None
    atom: int = 1
    error: float | None = None
    beta: float = BETA

    def plan(self, shape: tuple[int, ...], size: int | None, budget: Budget | None = None) -> PartitionPlan:
        """Return the plan for columns of these numbers of bins and a public number of records.

        `budget` is the settings' own, with what was spent of it earlier.

        Raises
        ------
        DpoptError
            For whatever cannot be planned.
        """
        budget = self.counts.budget() if budget is None else budget
        relation = self.counts.relation
        if len(shape) == 1:
            if self.cuts is not None:
                raise PlanError("--cuts is for several columns; for one give --intervals")
            return plan_intervals(
                shape[0],
                budget,
                size,
                relation=relation,
                weights=self.weights,
                intervals=self.intervals,
                atom=self.atom,
                error=self.error,
                beta=self.beta,
            )
        if self.intervals is not None or self.weights != MEASURED or self.atom != 1:
            raise PlanError("--intervals, --weights and --atom are for one column; for several give --cuts")
        return plan_split(
            shape,
            budget,
            size,
            relation=relation,
            rounds=self.cuts,
            error=self.error,
            beta=self.beta,
        )
