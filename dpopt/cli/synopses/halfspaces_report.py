"""What `dpopt halfspaces plan` says on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan


def print_plan(planned: HalfspacePlan) -> None:
    """Print what a plan measures, and its predicted errors."""
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "measured", "numbers", "noise: scale", title=f"measured with {noise} noise", title_justify="left"
    )
    for one, scale, numbers in zip(planned.measurements(), planned.scales, planned.numbers, strict=True):
        table.add_row(one.name, f"{numbers:,}", f"{scale:.4g}")
    out.print(table)
    predicted = planned.prediction
    out.print(
        f"{planned.number:,} projections to R^{planned.dimension}, {2 * planned.directions} directions each"
    )
    out.print(
        f"{predicted.queries:,} queries of margin {planned.margin:g}: within {predicted.error:.3g}, all of them with "
        f"probability 95 %; {predicted.bias:.3g} of it for the projections (a single record is typically "
        f"off by {predicted.typical:.2g}), {predicted.noise:.2g} for the noise"
    )
    out.print(
        f"each of them counted with noise of its own: within {predicted.direct:.3g}; this release is worth it from "
        f"{predicted.worth:,} queries on"
    )
