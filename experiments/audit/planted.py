"""The noise of the private side changed, in the code that draws it: halved, or left out; charges and plans stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.private.curators import measuring_curator, multiplicative_curator
from dpopt.private.mechanisms.net.net_distribution import NetDistribution
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.selection_distribution import ExponentialTable


@contextmanager
def noise_times(factor: float) -> Iterator[None]:
    """Draw noise of `factor` times the scale, and select by exponential mechanisms of 1 / `factor` times the range."""
    wider = 1 / Decimal(str(factor))
    with ExitStack() as stack:
        for distribution in ("discrete_laplace", "discrete_gaussian"):
            stack.enter_context(
                mock.patch.object(OpendpNoise, distribution, _scaled(getattr(OpendpNoise, distribution), factor))
            )
        for kind in (ExponentialTable, NetDistribution):
            stack.enter_context(mock.patch.object(kind, "__init__", _first_times(kind.__init__, wider)))
        for module in (measuring_curator, multiplicative_curator):
            original = module.selection_weights
            stack.enter_context(mock.patch.object(module, "selection_weights", _range_times(original, wider)))
        yield


@dataclass(slots=True)
class Drawn:
    """Exact counts that were to get noise, in their order, and its scale for each."""

    counts: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)


@contextmanager
def no_noise() -> Iterator[Drawn]:
    """Release exact counts, and note them."""
    drawn = Drawn()

    def noted(_: OpendpNoise, exact: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn.counts += exact.reshape(-1).tolist()
        drawn.scales += [scale] * exact.size
        return exact.copy()

    with (
        mock.patch.object(OpendpNoise, "discrete_laplace", noted),
        mock.patch.object(OpendpNoise, "discrete_gaussian", noted),
    ):
        yield drawn


def _scaled(original: Callable[..., NDArray[np.int64]], factor: float) -> Callable[..., NDArray[np.int64]]:
    def drawn(noise: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return original(noise, counts, scale * factor)

    return drawn


def _first_times(original: Callable[..., None], wider: Decimal) -> Callable[..., None]:
    def made(self: object, first: Decimal, *others: Any, **named: Any) -> None:
        original(self, first * wider, *others, **named)

    return made


def _range_times(original: Callable[..., list[int]], wider: Decimal) -> Callable[..., list[int]]:
    def weights(scores: Any, *, range_: Decimal, spread: int) -> list[int]:
        return original(scores, range_=range_ * wider, spread=spread)

    return weights
