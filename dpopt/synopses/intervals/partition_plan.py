"""The shared parts of plans of intervals and of boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.models.model_size import ModelSize
from dpopt.synopses.histograms.counts_plan import check_scales, node_sensitivity
from dpopt.synopses.histograms.tree_plan import LARGEST_DOMAIN, tree_model_sizes
from dpopt.synopses.intervals.partition import LARGEST_PARTITION
from dpopt.synopses.synopsis import SynopsisPlan

LARGEST_RECORDS = 2**40
MODEL = "nonnegative"
"""The estimate of the boxes' weights that is a model."""


def check_domain(bins: int) -> None:
    """Refuse a number of bins that is out of range."""
    if not 2 <= bins <= LARGEST_DOMAIN:
        raise PlanError(f"intervals are of 2 to {LARGEST_DOMAIN:,} bins, found {bins:,}")


def check_records(size: int | None) -> int:
    """Return the public number of records; refuse one that is missing or out of range."""
    if size is None:
        raise PlanError(
            "thresholds are shares of a public number of records: give --n, the number of records under replace, or "
            "under add-remove a fixed public number near it"
        )
    if not 1 <= size <= LARGEST_RECORDS:
        raise PlanError(f"found the number of records {size:,}; expected 1 to {LARGEST_RECORDS:,}")
    return size


def check_unit(name: str, value: float | None) -> None:
    """Refuse a probability or share that is given and does not lie between 0 and 1."""
    if value is not None and not 0.0 < value < 1.0:
        raise PlanError(f"{name} must lie between 0 and 1, found {value!r}")


@dataclass(frozen=True, kw_only=True)
class PartitionPlan(SynopsisPlan, ABC):
    """The plan of a release of intervals or boxes."""

    parts: ClassVar[str]
    """The released objects, in words."""
    proven_for: ClassVar[str] = ""
    """For which tables the stated error holds, as the end of a sentence; empty for all."""
    shape: tuple[int, ...]
    """Bins of each column."""
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    size: int
    """The number of records, public under replace-one; under add-remove a number near it, for planning alone."""
    scale: float
    """Of the noise of each comparison, in records."""
    mass_scales: tuple[float, ...]
    """Of the noise of the sums of each measured level, from the top down."""
    beta: float
    """With which probability the stated error may be exceeded."""
    error: float
    """The stated error, in records: of all ranges or boxes together."""

    def __post_init__(self) -> None:
        check_records(self.size)
        check_unit("beta", self.beta)
        check_scales((self.scale, *self.mass_scales), (self.scale, *self.mass_scales))

    @property
    def not_proven(self) -> str:
        """That a wanted error is below the stated one, in words after it and its number of records."""
        return (
            f"is not proven for n = {self.size:,} and {self.budget.describe()}: the best plan has "
            f"{self.error / self.size:.3g} ({self.error:,.0f} records)"
        )

    def charges_of_sums(self, names: Sequence[str]) -> list[Charge]:
        """Return the charges of the sums of each measured level, by the names of their measurements."""
        sensitivity = node_sensitivity(self.relation)
        return [
            measurement_charge(name, sensitivity, scale, gaussian=self.gaussian, relation=self.relation)
            for name, scale in zip(names, self.mass_scales, strict=True)
        ]

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the model of a release: `nonnegative`, of at most two nodes a box."""
        nodes = 2 * min(prod(self.shape), LARGEST_PARTITION) + 1
        return {MODEL: tree_model_sizes(nodes)[MODEL]}

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    @property
    def expected_error(self) -> float:
        """The expected error, in records: the stated one unless overridden."""
        return self.error

    @abstractmethod
    def charges(self) -> list[Charge]:
        """Return all charges, in order."""

    @abstractmethod
    def in_words(self) -> list[str]:
        """Return the steps, in sentences."""

    @property
    def noise_in_words(self) -> str:
        """The noise of a comparison."""
        return f"{'Gaussian' if self.gaussian else 'Laplace'} noise of scale {self.scale:,.4g}"
