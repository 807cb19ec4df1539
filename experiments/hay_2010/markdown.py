"""All tables, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from experiments.hay_2010.degrees import degree_tables
from experiments.hay_2010.range_tables import range_tables, theorem_4_table
from experiments.hay_2010.sequence_tables import bound_table, error_tables, example_table, position_table


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of the parts that were measured."""
    parts: dict[str, Callable[[Any], Iterator[str]]] = {
        "example": example_table,
        "unattributed": error_tables,
        "degrees": degree_tables,
        "bound": bound_table,
        "positions": position_table,
        "universal": range_tables,
        "theorem_4": theorem_4_table,
    }
    for name, tables in parts.items():
        if name in report:
            yield from tables(report[name])
    seconds = ", ".join(f"{name} {wall:,.0f} ({busy:,.0f})" for name, (wall, busy) in report["seconds"].items())
    yield f"Seconds by part, of the processor in brackets: {seconds}."
