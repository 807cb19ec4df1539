"""What was asked of a run: all public inputs but the number of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.settings import Settings, choice
from dpopt.errors import ReleaseFolderError
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.measured_size import is_measured
from dpopt.schema.schema import Schema

REQUEST_VERSION = 1
RESERVATION = "reservation"
"""Under this name the statement of a release has the mark of its reservation in the owner's budget over many releases."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a release is asked for.

    Attributes
    ----------
    settings : Settings
        With the reading of the table as it is published.
    schema : Schema
    workload : Workload
    form : str or None
        How a wide table is handed over; see `dpopt.algorithms.stating.plan_and_statement`.
    reservation : str or None
        The mark of its reservation in the owner's budget over many releases, where it is paid from one.
    """

    settings: Settings
    schema: Schema
    workload: Workload
    form: str | None = None
    reservation: str | None = None

    @property
    def relation(self) -> NeighbouringRelation:
        """Which tables count as neighbours."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.settings.neighbours, "neighbours")
        return relation

    @property
    def measures_size(self) -> bool:
        """Whether the number of records has to be measured."""
        return is_measured(self.relation, self.settings.n0)

    @property
    def statement(self) -> Mapping[str, Any]:
        """How the table is read, and from where the run is paid, as a job states it."""
        paid = {} if self.reservation is None else {RESERVATION: self.reservation}
        return {"reading": self.settings.reading.to_json(), **paid}

    def to_json(self) -> dict[str, Any]:
        """Return settings and form as a JSON object; schema and workload have files of their own."""
        given = {one.name: getattr(self.settings, one.name) for one in fields(Settings)}
        step = given["step"]
        return {
            "dpopt_request": REQUEST_VERSION,
            "settings": {
                **given,
                "step": None if step is None else str(step),
                "reading": self.settings.reading.to_json(),
            },
            "form": self.form,
            RESERVATION: self.reservation,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], schema: Schema, workload: Workload) -> Asked:
        """Read back what `to_json` gave.

        Raises
        ------
        ReleaseFolderError
            If a part is missing or unknown, or another version wrote it.
        """
        given = obj.get("settings")
        known = {one.name for one in fields(Settings)}
        if obj.get("dpopt_request") != REQUEST_VERSION or not isinstance(given, dict) or set(given) != known:
            raise ReleaseFolderError(
                "the request on file is damaged, or of another version of dpopt; continue with the version that began the run"
            )
        step = given["step"]
        settings = Settings(
            **{
                **given,
                "step": None if step is None else Decimal(str(step)),
                "reading": TableReading.from_json(given["reading"]),
            }
        )
        settings.check()
        form, paid = (None if obj.get(key) is None else str(obj[key]) for key in ("form", RESERVATION))
        return cls(settings, schema, workload, form, paid)
