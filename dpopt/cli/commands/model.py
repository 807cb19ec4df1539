"""`dpopt model`: the optimization models by name: list, print, write to a file, solve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli.application import command, command_group
from dpopt.cli.commands.plan import print_json
from dpopt.cli.model_source import BEST_RESPONSES, Source, model_of

if TYPE_CHECKING:
    from dpopt.models.model import Model, Solution

model_group = command_group("model", "Print, export and solve the optimization models.")

_Json = Annotated[bool, "--json", "Print JSON."]


@command("list", group=model_group)
def list_models(*, as_json: _Json = False) -> None:
    """List the models: what each decides, its page, its own method if it has one, and how many instances."""
    from dpopt.models.catalogue import instances, model_names

    of_page = {name: [stem for stem, path in instances().items() if path.parts[-3] == name] for name in BEST_RESPONSES}
    rows: list[tuple[str, str, str | None, list[str], str]] = [
        (name, name, None, of_page[name], decides) for name, (_, decides) in BEST_RESPONSES.items()
    ]
    rows += [_listed(name) for name in model_names()]
    if as_json:
        print_json(
            {
                "models": [
                    dict(zip(("name", "page", "own_method", "instances", "decides"), row, strict=True)) for row in rows
                ]
            }
        )
        return
    width = max(len(name) for name, *_ in rows)
    for name, page, method, known, decides in rows:
        notes = [f"page {page}"] * (page != name) + ([] if method is None else [f"own method {method}"])
        notes += [f"{len(known)} instances"] * bool(known)
        shown = f" ({', '.join(notes)})" if notes else ""
        typer.echo(f"{name:<{width}}  {decides}{shown}")


def _listed(name: str) -> tuple[str, str, str | None, list[str], str]:
    """Return name, page, its own method if it has one, instances, and its decision, or why it cannot be built."""
    from dpopt.errors import ProgramError
    from dpopt.models.catalogue import CATALOGUE, build_model, catalogue_entry

    try:
        entry = catalogue_entry(name)
        return name, entry.page or name, build_model(name).own_method, [], entry.decides
    except ProgramError as problem:
        if name in CATALOGUE:
            raise
        return name, name, None, [], f"broken: {problem}"


@command("show", group=model_group)
def show(
    *,
    source: Source,
    every_row: Annotated[bool, "--all", "Print every row; left out: two rows of each block."] = False,
    with_page: Annotated[
        bool, "--page", "Print the page of the model, and where its textbook, instances and notebooks are."
    ] = False,
    as_json: _Json = False,
) -> None:
    """Print a model: sense, blocks of variables and rows with their labels, and rows as formulas."""
    if with_page:
        _show_page(source.name, as_json=as_json)
        return
    model = model_of(source)
    if as_json:
        print_json(_described(model))
    elif every_row:
        typer.echo("\n".join(model.formulas()))
    else:
        typer.echo(str(model))


@command("export", group=model_group)
def export(
    *,
    source: Source,
    out: Annotated[Path, "-o", "--out", "New file: .lp, .mps, .opb, .pbtxt for CP-SAT, .wcnf of a best response."],
    as_json: _Json = False,
) -> None:
    """Write a model to a file that other solvers read."""
    model = model_of(source)
    model.write(out)
    if as_json:
        print_json({"file": str(out), **_described(model)})
    else:
        typer.echo(f"{out}: {model.name}, {model.linear.number_of_variables:,} variables, "
                   f"{model.linear.number_of_rows:,} rows")  # fmt: skip


@command("solve", group=model_group)
def solve(
    *,
    source: Source,
    solver: Annotated[
        str | None,
        "Solver, or closed-form for the model's own method. Left out: that if there is one, else highs or clarabel.",
    ] = None,
    seconds: Annotated[float | None, "Time limit in seconds. Default: none."] = None,
    as_json: _Json = False,
) -> None:
    """Solve a model, and print its values with their certificate: exact objective, violation, proven gap."""
    solution = model_of(source).solve(solver, seconds=seconds)
    if as_json:
        print_json(_solved(solution))
        return
    typer.echo(str(solution))
    for symbol, values in solution.value.items():
        flat = values.ravel()
        shown = ", ".join(f"{value:.6g}" for value in flat[:20].tolist())
        typer.echo(f"{symbol}: {shown}{', ...' if flat.size > 20 else ''}")


def _show_page(name: str, *, as_json: bool) -> None:
    from dpopt.errors import ProgramError
    from dpopt.files.reading import read_text
    from dpopt.models.catalogue import beside, page, pages

    file = page(name)
    text = read_text(file, file.name, ProgramError)
    found = [str(path) for path in beside(file)] if file.is_relative_to(pages()) else []
    if as_json:
        print_json({"page": str(file), "beside": found, "text": text})
    else:
        typer.echo("\n".join([text, *found]))


def _described(model: Model) -> dict[str, Any]:
    """Return the output of `dpopt model show --json`."""
    blocks = {"variables": model.variables, "rows": model.rows, "squares": model.squares, "cones": model.cones}
    return {
        "name": model.name,
        "sense": "maximize" if model.linear.maximize else "minimize",
        "own_method": model.own_method,
        **{
            kind: [{"symbol": symbol, "shape": list(block.shape)} for symbol, block in part.items()]
            for kind, part in blocks.items()
        },
        "formulas": model.formulas(2),
    }


def _solved(solution: Solution) -> dict[str, Any]:
    """Return the output of `dpopt model solve --json`."""
    certificate = solution.certificate
    return {
        "solver": solution.result.solver,
        "termination": solution.termination.value,
        "limit": None if solution.limit is None else solution.limit.value,
        "objective": solution.objective,
        "reported_bound": None if certificate is None else certificate.reported_bound,
        "proven_bound": (
            None if certificate is None or certificate.proven_bound is None else float(certificate.proven_bound)
        ),
        "violation": None if certificate is None else certificate.primal_violation,
        "seconds": solution.result.seconds,
        "values": {symbol: values.tolist() for symbol, values in solution.value.items()},
    }
