"""The spending in plain words: the guarantee, its meaning for a test of membership, and charges by mechanism."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from dpopt.accounting.budget import protection


def meaning_of(privacy: Mapping[str, Any]) -> list[str]:
    """Return the meaning of a guarantee, a sentence each; `privacy` as stated in release.json or a synopsis."""
    if not privacy["private"]:
        return ["Some draws came from a seeded or scripted source, as in tests: this release protects nobody."]
    epsilon, delta = privacy["epsilon"], privacy["delta"]
    factor = f"{exp(epsilon):.3g}" if epsilon < 50 else "more than 10^21"
    beyond = f" and, beyond that, by at most delta = {delta:g}" if delta else ""
    first = (
        f"Any conclusion from this release has nearly the same probability for two neighbouring tables: the two "
        f"probabilities differ by a factor of at most e^{epsilon:.4g} = {factor}{beyond}. Neighbouring: "
        f"{privacy['neighbours']}."
    )
    sentences = [first, f"{protection(epsilon, delta)}. This holds whatever else the attacker knows."]
    unit = privacy.get("unit", "one record")
    sentences.append(
        f"The guarantee protects {unit}. It does not hide what many records have in common, which the release is meant to "
        f"show."
    )
    return sentences


def grouped_charges(charges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the charges of a ledger, equal mechanisms together: name, theorem, number, cost of each, share.

    Shares are of rho, in zCDP: epsilon squared over 2 of a pure charge, and over 8 of one of bounded range.
    """
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for charge in charges:
        mechanism = re.sub(r"\b\d+\b", "#", charge["mechanism"]) if len(charges) > 12 else charge["mechanism"]
        groups.setdefault((mechanism, charge["theorem"], charge["kind"]), []).append(charge)
    total = sum(one["count"] * _rho(one) for one in charges)
    return [
        {
            "mechanism": mechanism.replace(" #", ""),
            "theorem": theorem,
            "charges": len(some),
            "uses": (uses := sum(one["count"] for one in some)),
            "share": sum(one["count"] * _rho(one) for one in some) / total if total > 0 else None,
            "cost": _cost(kind, [one["parameter"] for one in some], uses),
        }
        for (mechanism, theorem, kind), some in groups.items()
    ]


def _rho(charge: Mapping[str, Any]) -> float:
    if charge["kind"] in {"not private", "delta"}:
        return 0.0
    parameter = float(charge["parameter"])
    return {"concentrated": parameter, "pure": parameter**2 / 2}.get(charge["kind"], parameter**2 / 8)


def _cost(kind: str, parameters: Sequence[float], uses: int) -> str:
    if kind == "not private":
        return "no bound"
    unit = {"concentrated": "rho", "pure": "epsilon", "delta": "delta"}.get(kind, "range")
    each = " to ".join(dict.fromkeys(f"{one:.4g}" for one in (min(parameters), max(parameters))))
    return f"{unit} = {each}" + (" each" if uses > 1 else "")
