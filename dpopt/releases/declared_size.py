"""Whether released values contradict a declared number of records: totals that they give, each with the deviation of its noise.

Everything here takes released values, the plan and the public n0 alone: it costs no privacy, and changes no draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

FALSE_ALARM = 1e-4
"""Probability, at most, with which a declared number that is right is called wrong."""


@dataclass(frozen=True, slots=True)
class Total:
    """Estimates of the number of records n by released values."""

    value: float
    deviation: float
    """In records; the deviation is that of the noise, 0 or more."""
    says: Literal["about", "at least", "apart"] = "about"
    """n is "about" the value: an unbiased estimate; "at least" it; or at least the value "apart" from the declared
    number."""
    tests: int = 1
    """Of how many such numbers this is the farthest."""
    gaussian: bool = True
    """Discrete Gaussian noise; else a sum of discrete Laplace noise."""

    def beyond(self, chance: float) -> float:
        """Return a bound on the noise, which it exceeds with this probability at most, 1e-4 or less, two-sided.

        The moment generating function of a sum of Laplace numbers is at most that of one of the same variance: 1 / (1 -
        u^2) at u times its rate. With u = 1 - 1 / s, Chernoff's bound 2 e^(-u s) / (1 - u^2) is below `chance`.
        """
        log_chance = log(2 / chance)
        s = log_chance + 1 + log(log_chance)
        return self.deviation * (float(-ndtri(chance / 2)) if self.gaussian else s / sqrt(2))


def combined(totals: Sequence[Total]) -> Total | None:
    """Return the estimate of least variance of independent estimates; None where there is none."""
    weights = np.array([one.deviation**-2 for one in totals])
    if not totals:
        return None
    value = float(weights @ [one.value for one in totals] / weights.sum())
    return Total(value, float(weights.sum() ** -0.5), gaussian=all(one.gaussian for one in totals))


def contradiction(privacy: Mapping[str, Any], totals: Sequence[Total]) -> dict[str, Any] | None:
    """Return the number of records by released values, if they contradict the declared one; `FALSE_ALARM` at most.

    All tests share `FALSE_ALARM`. An estimate is preferred to limits, of which the one that is farther away is
    returned.
    """
    if privacy.get("relation") != "add-remove" or privacy["budget"].get("earlier"):
        return None
    if not (declared := privacy["public_size"]):
        return None
    estimate = combined([one for one in totals if one.says == "about"])
    limits = [one for one in totals if one.says != "about"]
    chance = FALSE_ALARM / max(1, sum(one.tests for one in limits) + (estimate is not None))
    if estimate is not None and abs(estimate.value - declared) > estimate.beyond(chance):
        found = {"says": estimate.says, "records": max(0, round(estimate.value))}
        return {"declared": declared, **found, "deviation": float(f"{estimate.deviation:.6g}")}
    apart = [(one.value - one.beyond(chance) - (declared if one.says == "at least" else 0), one) for one in limits]
    far, limit = max(apart, key=lambda one: one[0], default=(0.0, None))
    if limit is None or not far > 0:
        return None
    # Without the sign, a number below the declared one is what records that are evenly spread leave possible.
    least = limit.says == "at least" or far >= declared
    records = int(declared + far if least else declared - far)
    return {"declared": declared, "says": "at least" if least else "apart", "records": records}


def contradiction_in_brief(found: Mapping[str, Any] | None) -> list[str]:
    """Return a contradiction in a few words; nothing if there is none."""
    if found is None:
        return []
    shown = f"{found['says']} {found['records']:,}"
    if found["says"] == "apart":
        shown = f"apart by at least {found['declared'] - found['records']:,}"
    return [f"n0={found['declared']:,} contradicted: {shown}"]


def contradiction_in_words(found: Mapping[str, Any], errors: str = "include an estimate of that") -> str:
    """Return a contradiction, its effect on stated `errors`, and advice."""
    declared, records = found["declared"], found["records"]
    if found["says"] == "apart":
        shown = f"the true number is at least {declared - records:,} more or fewer"
    else:
        noise = f", with a standard error of {found['deviation']:,.3g}" if "deviation" in found else ""
        shown = f"they show {found['says']} {records:,} records{noise}"
    return (
        f"n0 = {declared:,} was declared as the number of records, and the released values contradict it: {shown}. (At "
        f"most 1 in {1 / FALSE_ALARM:,.0f} releases with a right n0 gets this warning.) All shares and other figures "
        f"computed with n0 are wrong by the same factor; stated errors {errors}, and proven bounds do not hold. Release "
        f"again without n0, so that dpopt measures the number with 1 % of the budget, or declare one near the number "
        f"in this warning, which is public now."
    )
