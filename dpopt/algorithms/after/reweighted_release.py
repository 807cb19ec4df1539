"""A finished DualQuery release with maximum-likelihood weights: as a value, and as a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.evaluation import Evaluation
from dpopt.algorithms.synthetic_release import SyntheticRelease, write_synthetic
from dpopt.errors import PlanError
from dpopt.models.records.reweighting import (
    CLOSE,
    MOST_STEPS,
    Reweighted,
    TranscriptLikelihood,
    likelihood_maximized_by,
    maximize_likelihood,
)
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Capability, Solver
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.folder_files import check_empty, new_folder, write_json
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import whole_number
from dpopt.releases.progress import Progress, shown_progress, stage
from dpopt.releases.records import SyntheticRecords, merged
from dpopt.releases.solver_choice import require_solver

REWEIGHTING = "reweighting.json"

MOST_ROUNDS = 3_000
"""Beyond this many rounds the Hessian would not be formed at once."""
MOST_ANSWERS = 2_000_000_000
"""Bytes for the answer of each round's record to each query."""
_PARTS = 1_000_000
_PRIVACY_COST = "none: weights are a function of the release alone"


@dataclass(frozen=True, slots=True, eq=False)
class ReweightedRelease:
    """A release and maximum-likelihood weights for its records."""

    release: SyntheticRelease
    """As it was released."""
    found: Reweighted
    """The weights round by round, with likelihoods and gap."""
    records: SyntheticRecords
    """The distinct records of weight above 0; multiplicities are millionths."""

    @classmethod
    def of(
        cls,
        release: SyntheticRelease,
        *,
        solver: str | Solver | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> ReweightedRelease:
        """Find the weights of the records of all rounds that maximize the likelihood of the released draws.

            maximize L(w)  subject to  w >= 0, sum w = 1  (`dpopt.models.records.reweighting`, RW-1)

        by Newton steps: the quadratic model is maximized over the simplex, and the step is halved until L grows by a
        tenth of what the model's slope promises. Ends when the proven gap (RW-5) is at most `CLOSE`. A solver, within its
        seconds, takes the place of Newton's method.
        """
        plan, clauses, rounds = DualQueryPlan.of(release.job.plan), release.job.workload.clauses, release.played
        if not 1 <= len(rounds) <= MOST_ROUNDS:
            raise PlanError(f"re-weighting takes 1 to {MOST_ROUNDS:,} rounds, found {len(rounds):,}")
        if len(rounds) * len(clauses) > MOST_ANSWERS:
            raise PlanError(
                f"re-weighting keeps the answer of each record to each query, at most {MOST_ANSWERS:,}; found "
                f"{len(rounds):,} rounds and {len(clauses):,} queries"
            )
        records, drawn = [done.kept for done in rounds], [done.sampled for done in rounds]
        likelihood = TranscriptLikelihood.of(clauses, records, drawn, draws=plan.draws, step=float(plan.step))
        told, gaps = progress or Progress(), [CLOSE]

        def show(step: int, left: float) -> None:
            gaps.append(left)  # how far it is: by the logarithm of the gap, or by the steps, whichever is further
            done = log(max(gaps) / min(gaps[1:])) / max(log(max(gaps) / CLOSE), 1e-9)
            told.share(min(1.0, max(done, step / MOST_STEPS)))

        if solver is None:
            found = maximize_likelihood(likelihood, gap=CLOSE, on_step=show)
        else:
            found = likelihood_maximized_by(solver, likelihood, SolveLimits(seconds=seconds))
        return cls(release, found, weighted_records(rounds, found.weights))

    @property
    def distinct(self) -> int:
        """The number of distinct records whose weight is not 0."""
        return len(self.records)

    def errors(self, dataset: PrivateDataset) -> tuple[Evaluation, Evaluation]:
        """Return the errors of the release, and of the maximum-likelihood weights. NOT private: keep them with the table."""
        return evaluate(self.release, dataset), evaluate(self._as_release(self.release.job.rows), dataset)

    def write(self, folder: str | os.PathLike[str], *, rows: int | None = None) -> Mapping[str, Any]:
        """Write records and reweighting.json into a new or empty folder; return the content of the latter.

        Parameters
        ----------
        rows
            Write so many rows without weights, by systematic resampling, in place of distinct records with weights.
        """
        place, written = Path(folder), self._as_release(rows)
        with new_folder(place):
            output = write_synthetic(written.job, place, written.written, self.release.values)
            statement = {
                "dpopt_reweighting": 1,
                "inputs_of_the_release": self.release.job.fingerprint(),
                "privacy": {**self.release.statement["privacy"], "cost_of_the_weights": _PRIVACY_COST},
                "log_likelihood": {"equal_weights": self.found.before, "these_weights": self.found.after},
                "gap": self.found.gap,
                **({"solver": self.found.solver} if self.found.solver else {"steps": self.found.steps}),
                "records": {"distinct": self.distinct, **output},
            }
            write_json(place / REWEIGHTING, statement)
        return statement

    def _as_release(self, rows: int | None) -> SyntheticRelease:
        """Return the release with the re-weighted records in place of its own."""
        job = self.release.job
        output = {"format": job.output.get("format", "csv"), "rows": rows}
        picked = None if rows is None else self.records.resampled(rows)
        return replace(self.release, job=replace(job, output=output), synthetic=self.records, picked=picked)


def reweight_release(
    release: SyntheticRelease | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    rows: int | None = None,
    solver: str | Solver | None = None,
    seconds: float | None = None,
    progress: Progress | bool | None = None,
) -> ReweightedRelease:
    """Give the records of a DualQuery release the weights under which its transcript is most likely; no privacy is spent.

    maximize L(w)  subject to  w >= 0, sum w = 1  (`dpopt.models.records.reweighting`, RW-1)

    Parameters
    ----------
    release
        A finished release, or its folder.
    folder, optional
        A new or empty folder for the records and reweighting.json; the release itself is never changed.
    rows : int, optional
        Write so many rows without weights.
    solver : str or Solver, optional
        Who solves the program in place of Newton's method: one that takes cones, such as clarabel; for small releases.
    seconds, progress : optional
        Its time limit; where to tell how far it is, as of `dpopt.release`.

    Raises
    ------
    PlanError
        If the release is not DualQuery's, too large, or `rows` cannot be written; or the solver does not take the
        program.
    ProgramError
        If the solver finds no weights.
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    ReleaseFolderError
        If a folder cannot be read or written.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> asked = {"epsilon": 1, "delta": 1e-6, "algorithm": "dualquery", "predict": False}
    >>> folder = tempfile.mkdtemp()
    >>> made = dpopt.release(table, schema, "marginals:1", n0=1000, **asked)
    >>> made.save(folder + "/release")
    >>> dpopt.reweight_release(folder + "/release").release.chosen["algorithm"]
    'dualquery'
    """
    from dpopt.algorithms.replay import load

    if folder is not None:
        check_empty(Path(folder))
    if rows is not None:
        rows = whole_number("the number of rows", rows, least=1)
    if solver is not None:
        require_solver(solver, Capability.CONES)
    progress = shown_progress(progress)
    with stage(progress, "reading the release"):
        finished = release if isinstance(release, SyntheticRelease) else load(release)
    with stage(progress, "re-weighting"):
        reweighted = ReweightedRelease.of(finished, solver=solver, seconds=seconds, progress=progress)
    if folder is not None:
        reweighted.write(folder, rows=rows)
    return reweighted


def weighted_records(rounds: Sequence[Round], weights: NDArray[np.float64]) -> SyntheticRecords:
    """Return the distinct records with multiplicities out of a million, by largest remainders."""
    records, _, place = merged([done.kept for done in rounds])
    shares = np.bincount(place, weights=weights, minlength=len(records)) * _PARTS
    parts = np.floor(shares).astype(np.int64)
    largest = np.argsort(parts - shares, kind="stable")[: _PARTS - int(parts.sum())]
    parts[largest] += 1
    kept = np.flatnonzero(parts)
    held = records.take(kept) if isinstance(records, BitRecords) else records[kept]
    return SyntheticRecords(held, parts[kept])
