"""What was spent, in plain words: the guarantee, its meaning for a test of membership, and charges by mechanism."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from dpopt.accounting.budget import protection


def meaning_of(privacy: Mapping[str, Any]) -> list[str]:
    """Return what a guarantee means, a sentence each.

    Parameters
    ----------
    privacy
        The part of that name of release.json, or of the statement of a file that answers queries.
    """
    if not privacy["private"]:
        return ["Some draws came from a seeded or scripted source, as in tests: this release protects nobody."]
    epsilon, delta = privacy["epsilon"], privacy["delta"]
    factor = f"{exp(epsilon):.3g}" if epsilon < 50 else "more than 10^21"
    beyond = f" and, beyond that, by at most delta = {delta:g}" if delta else ""
    first = (
        f"Any conclusion from this release has nearly the same probability whichever of two neighbouring tables it "
        f"came from: they differ by a factor of at most e^{epsilon:.4g} = {factor}{beyond}. Neighbouring: "
        f"{privacy['neighbours']}."
    )
    sentences = [first, f"{protection(epsilon, delta)}. This holds whatever else its author knows."]
    unit = privacy.get("unit", "one record")
    sentences.append(
        f"What is protected is {unit}. What many records have in common is no secret of any of them, and is what the "
        f"release is meant to show."
    )
    return sentences


def grouped_charges(charges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the charges of a ledger, equal mechanisms together: what, theorem, how often, cost of each, share.

    Shares are of rho, in zCDP: epsilon squared over 2 of a pure charge, and over 8 of one of bounded range.
    """
    groups: dict[tuple[object, ...], dict[str, Any]] = {}
    for charge in charges:
        mechanism = re.sub(r"\b\d+\b", "#", charge["mechanism"]) if len(charges) > 12 else charge["mechanism"]
        key = (mechanism, charge["theorem"], charge["kind"])
        group = groups.setdefault(
            key,
            {
                "mechanism": mechanism.replace(" #", ""),
                "theorem": charge["theorem"],
                "kind": charge["kind"],
                "charges": 0,
                "uses": 0,
                "rho": 0.0,
                "least": charge["parameter"],
                "most": charge["parameter"],
            },
        )
        group["charges"] += 1
        group["uses"] += charge["count"]
        group["rho"] += charge["count"] * _rho(charge)
        if group["kind"] != "not private":
            group["least"] = min(group["least"], charge["parameter"])
            group["most"] = max(group["most"], charge["parameter"])
    total = sum(group["rho"] for group in groups.values())
    for group in groups.values():
        group["share"] = group["rho"] / total if total > 0 else None
        group["cost"] = _cost(group)
    return list(groups.values())


def _rho(charge: Mapping[str, Any]) -> float:
    if charge["kind"] in {"not private", "delta"}:
        return 0.0
    parameter = float(charge["parameter"])
    return {"concentrated": parameter, "pure": parameter**2 / 2}.get(charge["kind"], parameter**2 / 8)


def _cost(group: Mapping[str, Any]) -> str:
    if group["kind"] == "not private":
        return "no bound"
    unit = {"concentrated": "rho", "pure": "epsilon", "delta": "delta"}.get(group["kind"], "range")
    each = f"{group['least']:.4g}"
    if group["most"] > group["least"]:
        each += f" to {group['most']:.4g}"
    return f"{unit} = {each}" + (" each" if group["uses"] > 1 else "")
