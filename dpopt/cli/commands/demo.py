"""`dpopt demo`: the main job on a public population, with nothing but the package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli.application import command
from dpopt.cli.reports.reports import console, report_errors, report_release, report_rows


@command("demo")
def demo(
    keep: Annotated[Path | None, "New or empty folder that keeps people.csv, schema.json and the release."] = None,
) -> None:
    """Invent 50,000 people, release synthetic records of them, and evaluate and replay the release."""
    if keep is not None:
        from dpopt.releases.folder_files import make_empty

        make_empty(keep)
        _demonstrate(keep)
        typer.echo(f"\nkept in {keep}: people.csv, schema.json, release and again")
        return
    with tempfile.TemporaryDirectory(prefix="dpopt-demo-") as name:
        _demonstrate(Path(name))
    typer.echo("\nNothing was kept; 'dpopt demo --keep FOLDER' keeps the table, the schema and the release.")


def _demonstrate(place: Path) -> None:
    from dpopt.algorithms.evaluate import evaluate
    from dpopt.algorithms.release import release
    from dpopt.algorithms.replay import replay
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.private.readers.read_table import read_table
    from dpopt.releases.public_population.demo_population import demo_codes, demo_schema
    from dpopt.releases.remembered_tables import forget
    from dpopt.releases.table_output import write_records

    out = console()
    schema = demo_schema()
    table, folder = place / "people.csv", place / "release"
    schema.write(place / "schema.json")
    write_records(table, schema, demo_codes(), weights=None, format="csv")
    out.print(
        f"people.csv: a public population of 50,000 made-up people with {len(schema)} attributes that depend on each "
        f"other.\nThe first run compiles kernels and takes a little longer.\n\n"
        "$ dpopt release people.csv --schema schema.json --workload marginals:3 --epsilon 1 --delta 1e-9 --out release"
    )
    with TerminalProgress(details=False) as progress:
        finished = release(table, schema, "marginals:3", out=folder, epsilon=1.0, delta=1e-9, progress=progress)
    forget(table)  # its people are made up
    report_release(finished.statement, "release", "people.csv", details=False)
    out.print("\n$ dpopt evaluate release people.csv")
    report_errors(evaluate(finished, read_table(table, schema)))
    replay(folder, place / "again")
    same = all((place / "again" / file.name).read_bytes() == file.read_bytes() for file in folder.iterdir())
    out.print(f"\n$ dpopt replay release -o again\nthe same release byte for byte: {'yes' if same else 'NO'}")
    out.print("\nfirst synthetic records:")
    report_rows(folder / "synthetic.csv", rows=4)
