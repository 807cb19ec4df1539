"""Planted defects of the measured number of records, one at a time: each turns the check of its exact loss red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dpopt.accounting.charges import Charge
from dpopt.accounting.size import SizeMeasurement
from dpopt.private.curators import size_curator
from dpopt.private.curators.size_curator import SizeCurator
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.releases import measured_size
from dpopt.transcript.released import NoisyAnswers
from tests.exact_size_loss import BUDGETS, check_size

Plant = Callable[[pytest.MonkeyPatch], None]


def charged_by_half(given: pytest.MonkeyPatch) -> None:
    honest = SizeMeasurement.charge

    def charge(self: SizeMeasurement) -> Charge:
        return replace(honest(self), parameter=honest(self).parameter / 2)

    given.setattr(SizeMeasurement, "charge", charge)


def noise_of_half_the_scale(given: pytest.MonkeyPatch) -> None:
    def halved(exact, measurement, charge, noise):  # type: ignore[no-untyped-def]
        return with_noise(exact, replace(measurement, scale=measurement.scale / 2), charge, noise)

    given.setattr(size_curator, "with_noise", halved)


def records_counted_twice(given: pytest.MonkeyPatch) -> None:
    def doubled(exact, measurement, charge, noise):  # type: ignore[no-untyped-def]
        return with_noise(2 * exact, measurement, charge, noise)

    given.setattr(size_curator, "with_noise", doubled)


def no_charge(given: pytest.MonkeyPatch) -> None:
    given.setattr(SizeCurator, "measure", SizeCurator._measured)


def charge_after_the_draw(given: pytest.MonkeyPatch) -> None:
    def measure(self: SizeCurator, measurement: SizeMeasurement) -> NoisyAnswers:
        value = self._measured(measurement)
        self._charged(measurement.charge())
        return value

    given.setattr(SizeCurator, "measure", measure)


def second_draw(given: pytest.MonkeyPatch) -> None:
    def measure(self: SizeCurator, measurement: SizeMeasurement) -> NoisyAnswers:
        self._charged(measurement.charge())
        self._measured(measurement)
        return self._measured(measurement)

    given.setattr(SizeCurator, "measure", measure)


def not_on_file(given: pytest.MonkeyPatch) -> None:
    def released(self: SizeCurator, value: NoisyAnswers, entry: object) -> NoisyAnswers:
        return value

    given.setattr(SizeCurator, "_released", released)


def exact_number_used(given: pytest.MonkeyPatch) -> None:
    honest = measured_size._public

    def public(value: NoisyAnswers, budget: object) -> object:
        found = honest(value, budget)  # type: ignore[arg-type]
        return replace(found, number=found.number + 1)

    given.setattr(measured_size, "_public", public)


DEFECTS: dict[str, Plant] = {
    one.__name__: one
    for one in (
        charged_by_half,
        noise_of_half_the_scale,
        records_counted_twice,
        no_charge,
        charge_after_the_draw,
        second_draw,
        not_on_file,
        exact_number_used,
    )
}


@pytest.mark.parametrize("budget", ["rho", "pure"])
@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_a_planted_defect_turns_the_check_red(
    defect: Plant, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_size(BUDGETS[budget])
    defect(monkeypatch)
    with pytest.raises((AssertionError, IndexError)):
        check_size(BUDGETS[budget])
