"""A finished DualQuery release with maximum-likelihood weights: as a value, and as a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpopt.algorithms.after.reweighting import Reweighted, reweight, weighted_records
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.evaluate import evaluate
from dpopt.algorithms.synthetic_release import SyntheticRelease, write_synthetic
from dpopt.errors import PlanError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.folder_files import check_empty, make_empty, write_json
from dpopt.releases.records import SyntheticRecords

REWEIGHTING = "reweighting.json"
_PRIVACY_COST = "none: weights are a function of the release alone"


@dataclass(frozen=True, slots=True, eq=False)
class ReweightedRelease:
    """A release and maximum-likelihood weights for its records.

    Attributes
    ----------
    release : SyntheticRelease
        As it was released.
    found : Reweighted
        The weights round by round, with likelihoods and gap.
    records : SyntheticRecords
        The distinct records of weight above 0; multiplicities are millionths.
    """

    release: SyntheticRelease
    found: Reweighted
    records: SyntheticRecords

    @classmethod
    def of(cls, release: SyntheticRelease) -> ReweightedRelease:
        """Find the weights under which the transcript is most likely (`dpopt.algorithms.after.reweighting`).

        Raises
        ------
        PlanError
            If the release is not DualQuery's, or too large to be re-weighted.
        """
        plan = DualQueryPlan.of(release.job.plan)
        found = reweight(release.rounds, release.job.record_clauses(), plan)
        return cls(release, found, weighted_records(release.rounds, found.weights))

    @property
    def distinct(self) -> int:
        """The number of distinct records whose weight is not 0."""
        return len(self.records)

    def errors(self, dataset: PrivateDataset) -> dict[str, Any]:
        """Return the errors of the release and of the maximum-likelihood weights. NOT private: keep them with the table.

        Returns
        -------
        dict
            As `evaluate` returns for the release itself, and "reweighted" with its own "max_error" and "mean_error".
        """
        before = evaluate(self.release, dataset)
        after = evaluate(self._as_release(self.release.job.rows), dataset)
        return {**before, "reweighted": {key: after[key] for key in ("max_error", "mean_error")}}

    def write(self, folder: str | os.PathLike[str], *, rows: int | None = None) -> Mapping[str, Any]:
        """Write records and reweighting.json into a new or empty folder; return what the latter holds.

        Parameters
        ----------
        folder
            New or empty.
        rows : int, optional
            Write so many rows without weights, by systematic resampling, in place of distinct records with weights.

        Raises
        ------
        PlanError
            If `rows` is below 1, or too many to be written.
        ReleaseFolderError
            If the folder holds something or cannot be written.
        """
        place, written = Path(folder), self._as_release(rows)
        make_empty(place)
        output = write_synthetic(written.job, place, self.records)
        statement = {
            "dpopt_reweighting": 1,
            "inputs_of_the_release": self.release.job.fingerprint(),
            "privacy": {**self.release.statement["privacy"], "cost_of_the_weights": _PRIVACY_COST},
            "log_likelihood": {"equal_weights": self.found.before, "these_weights": self.found.after},
            "gap": self.found.gap,
            "steps": self.found.steps,
            "records": {"distinct": self.distinct, **output},
        }
        write_json(place / REWEIGHTING, statement)
        return statement

    def _as_release(self, rows: int | None) -> SyntheticRelease:
        """Return the release with the re-weighted records in place of its own."""
        job = self.release.job
        output = {key: value for key, value in job.output.items() if key != "rows"}
        output |= {} if rows is None else {"rows": rows}
        return replace(self.release, job=replace(job, output=output), synthetic=self.records)


def reweight_release(
    release: SyntheticRelease | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    rows: int | None = None,
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

    Raises
    ------
    PlanError
        If the release is not DualQuery's, too large, or `rows` cannot be written.
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    ReleaseFolderError
        If a folder cannot be read or written.
    """
    from dpopt.algorithms.replay import load

    if folder is not None:
        check_empty(Path(folder))
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise PlanError(f"the number of rows must be a whole number, at least 1, found {rows!r}")
    finished = release if isinstance(release, SyntheticRelease) else load(release)
    reweighted = ReweightedRelease.of(finished)
    if folder is not None:
        reweighted.write(folder, rows=rows)
    return reweighted
