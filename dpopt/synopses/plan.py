"""What plans of all synopses have in common: their form on file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.files.codec import decode, encode
from dpopt.files.json_files import json_object, refuse_unknown_keys

_PLAN = "the plan"


class SynopsisPlan:
    """A frozen dataclass, on file with every field, and with what follows from them for people who read the file."""

    __slots__ = ()
    budget: Budget
    relation: NeighbouringRelation

    def derived(self) -> dict[str, Any]:
        """Return what follows from the fields, as JSON."""
        return {"neighbours": self.budget.neighbours(self.relation)}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {**encode(self), **self.derived()}

    @classmethod
    def from_json(cls, given: object) -> Self:
        """Read what `to_json` gave; what follows from the fields is computed again.

        Raises
        ------
        PlanError
            If a field is missing or of the wrong kind, or a key is unknown.
        DpoptError
            What the checks of the plan raise.
        """
        stated = json_object(given, _PLAN, PlanError)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # each plan is a dataclass
        plan = decode(cls, {name: stated[name] for name in names if name in stated}, _PLAN, PlanError)
        refuse_unknown_keys(stated, [*names, *plan.derived()], _PLAN, PlanError)
        return plan
