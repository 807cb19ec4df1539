"""`dpopt plan`: cost and predicted accuracy of a run, from public values alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.algorithms.terms import Keywords, PlanTerms
from dpopt.cli import options
from dpopt.cli.application import NamedAlgorithm, command
from dpopt.cli.reports.declared import declared_schema
from dpopt.cli.reports.reports import console, listed, print_table, report_accuracy, report_plan
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.planned import Planned


@command("plan")
def plan(
    *,
    schema: options.DeclaredSchemaOption = None,
    workload: options.WorkloadOption = None,
    binary_columns: options.BinaryColumnsOption = None,
    names: options.NamesOption = None,
    layout: options.LayoutOption = None,
    n: Annotated[
        int | None,
        "Number of records to plan for: a guess is enough, since a release measures the number or uses --n0. Under "
        "replace it is the public number. If persons are protected it is the number of counted rows.",
    ] = None,
    epsilons: Annotated[
        str | None,
        "Instead of --epsilon: several, such as .1,.3,1,3; prints the predicted error of each. Use decimal points.",
    ] = None,
    unit: options.UnitOptions,
    n0_counted: options.N0CountedOption = False,
    accuracy: Annotated[
        float | None,
        "--error",
        "Instead of a plan: show the parameters of the DualQuery paper for this largest error, a share between 0 and 1, "
        "and their cost by each accountant.",
    ] = None,
    confidence_of_error: Annotated[float, "--confidence", "Probability with which the error of --error holds."] = 0.95,
    algorithm: NamedAlgorithm,
    terms: PlanTerms,
    compare: Annotated[
        bool, "--compare", "With auto: also predict the errors of the algorithms that it does not choose. Takes longer."
    ] = False,
    out: Annotated[
        Path | None,
        "-o",
        "--out",
        "Write the plan to this file, for 'dpopt release --plan'. With --epsilons: a picture (.svg, .png or .pdf). With "
        "several rounds, draws or steps: a picture or a table (.csv).",
    ] = None,
    details: options.DetailsOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Plan a release and predict its errors. Reads no record.

    For dualquery you can give rounds, draws and step without a budget: their cost is then the budget. Several numbers
    with commas give a table.
    """
    from dpopt.accounting.budget import DEFAULT_DELTA
    from dpopt.accounting.relations import NeighbouringRelation
    from dpopt.algorithms import planned
    from dpopt.algorithms.explain import explain_accuracy
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.files.written_files import check_replaceable
    from dpopt.releases.plan import choice

    relation = choice(NeighbouringRelation, terms.neighbours or "add-remove", "neighbours")
    declared = declared_schema(schema, binary_columns, names)
    reading = unit.reading(layout, n0_counted=n0_counted)
    if accuracy is not None:
        from dpopt.queries.workloads.workload import parse_workload

        _check_error(workload, n, algorithm, terms, unit)
        explained = explain_accuracy(
            accuracy,
            confidence_of_error,
            parse_workload(str(workload), declared),
            size=n or 0,
            relation=relation,
            epsilon=1.0 if terms.epsilon is None else terms.epsilon,
            delta=DEFAULT_DELTA if terms.delta is None else terms.delta,
        )
        print_json(explained) if as_json else _report_accuracy(explained)
        return
    over = {name: given for name, given in algorithm.given.items() if isinstance(given, list)}
    if over and (epsilons is not None or compare or algorithm.name != "dualquery"):
        raise PlanError(
            "several --rounds, --draws or --step need --algorithm dualquery, without --epsilons and --compare"
        )
    if out is not None and epsilons is None and not over:
        check_replaceable(out, planned.PLAN_BEGINS, "plan of dpopt")
    progress = TerminalProgress(details=details)
    asked: Keywords = {**asdict(terms), "reading": reading}  # type: ignore[typeddict-item]  # its fields are such keywords
    if over:
        from dpopt.cli.reports.rows import check_ending
        from dpopt.comparison.plans import sweep

        if out is not None:
            check_ending(out)
        with progress:
            one = {name: given for name, given in algorithm.given.items() if name not in over}
            found = sweep(declared, workload, over=over, n=n, progress=progress, **{**one, **asked})
        _show_sweep(found.astype(object).where(found.notna(), None).to_dict("records"), out, as_json=as_json)
        return
    if epsilons is not None:
        if terms.epsilon is not None or terms.rho is not None:
            raise PlanError("--epsilons replaces --epsilon and --rho; leave these out")
        several = _numbers(epsilons)
        typer.echo(f"epsilons {listed([f'{one:g}' for one in several])}", err=True)
        plans = planned.by_epsilon(
            declared, workload, epsilons=several, n=n, algorithm=algorithm.options(), progress=progress, **asked
        )
        _compare_epsilons(plans, out, as_json=as_json)
        return
    made = planned.plan(
        declared, workload, n=n, algorithm=algorithm.options(), progress=progress, compare=compare, **asked
    )
    if out is not None:
        made.save(out)
    if as_json:
        print_json(made.explained)
    else:
        _report(made, details=details, compare=compare, predict=terms.predict)


def _check_error(workload: str | None, n: int | None, named: NamedAlgorithm, terms: PlanTerms, unit: Any) -> None:
    """Refuse options that contradict --error."""
    if workload is None or n is None:
        raise PlanError("--error needs --workload and --n")
    if unit.rows_per_person is not None:
        raise PlanError(
            "--error shows the paper's parameters, which protect single records; leave --person and --rows-per-person out"
        )
    if terms.rho is not None:
        raise PlanError("--error goes with --epsilon and --delta (or with neither), not with --rho")
    if named.given:
        given = next(iter(named.given)).replace("_", "-")
        raise PlanError(f"--error fixes rounds, draws and step; leave --{given} out")


def _report(made: Planned, *, details: bool, compare: bool, predict: bool) -> None:
    """Print a plan: its accuracy, the widths of its figures' intervals, and its protection."""
    explained = made.explained
    if details or compare or explained["chosen"] is None or not predict:
        report_plan(made.plan.describe(), explained)
    queries = len(made.request.workload)
    report_accuracy(explained["accuracy"], made.plan.size, queries)
    if figures := explained.get("figures", ()):
        from dpopt.algorithms.measured.figures import width_in_words

        typer.echo("figures:    predicted 95 % intervals (the sizes of groups are private)")
        for one in figures:
            typer.echo(f"            {width_in_words(one)}")
    typer.echo(f"protection: {made.protects}")


def _show_sweep(rows: list[Any], out: Path | None, *, as_json: bool) -> None:
    """Print plans for several rounds, draws and steps, and write them to a file."""
    from dpopt.cli.pictures import draw_sweep
    from dpopt.cli.reports.rows import print_rows, write_rows

    if out is not None:
        write_rows(rows, out, draw_sweep)
    if as_json:
        print_json({"plans": rows})
        return
    print_rows(rows, title="plans of dualquery", most=len(rows))
    predicted = any(row.get("mean_error") is not None for row in rows)
    typer.echo(
        f"errors: {'mean and largest, predicted on public data; ' * predicted}the proven largest one holds if every best "
        "response is optimal\nseconds: of all rounds on this machine, estimated from the first rounds on public data"
    )


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list with commas, semicolons or blanks between them."""
    try:
        found = [float(part) for part in re.split(r"[,;\s]+", text.strip())]
    except ValueError:
        found = []
    if not found or not all(number > 0 for number in found):
        raise PlanError(
            "--epsilons are positive numbers with a decimal point, and commas or blanks between them, such as "
            f"0.1,0.5,1; found {text!r}"
            + (f"; did you mean {text.strip().replace(',', '.')}?" if re.fullmatch(r"\s*0,\d+\s*", text) else "")
        )
    return found


def _compare_epsilons(plans: Sequence[Planned], out: Path | None, *, as_json: bool) -> None:
    """Show the predicted errors and the protection of several epsilons."""
    from dpopt.algorithms.planned import recommended_epsilon

    rows, (chosen, because) = [one.row for one in plans], recommended_epsilon(plans)
    if out is not None:
        from dpopt.cli.pictures import draw_errors

        draw_errors(rows, out)
    if as_json:
        print_json({"epsilons": rows, "recommended": {"epsilon": chosen, "because": because}})
    else:
        _report_epsilons(rows, len(plans[0].request.workload))
        typer.echo(f"recommended: {because}")


def _report_epsilons(rows: Sequence[Mapping[str, Any]], queries: int) -> None:
    """Print the predicted errors of some queries against epsilon, with bars, the protection, and the best trivial baseline."""
    largest = max(row["mean_error"] or 0.0 for row in rows) or 1.0
    shown = []
    for row in rows:
        baselines = {name: errors["mean_error"] for name, errors in row["baselines"].items()}
        name = min(baselines, key=lambda one: baselines[one])
        error, least, like = row["mean_error"], baselines[name], row["like_a_sample_of"]
        won = " wins" if least <= error else ""
        shown.append(
            (
                f"{row['epsilon']:g}",
                f"{error:.2g}",
                "\u2588" * max(1, round(8 * error / largest)),
                "\u2013" if like is None else f"{like:,.0f}",
                f"{row['max_error']:.2g}",
                f"{least:.2g} {name}{won}",
                f"{row['found_of_100']:.3g}",
            )
        )
    chosen = " and ".join(dict.fromkeys(row["algorithm"] for row in rows))
    print_table(
        ("epsilon", "mean error", "", "like a sample of", "largest", "best baseline", "found of 100"),
        shown,
        title=f"errors predicted for {chosen} of {queries:,} counts, on public data",
    )
    typer.echo(
        "like a sample of: the size of a random sample with the same mean error\n"
        "largest: the largest error of a count; best baseline: the mean error of the best simple guess without the "
        "table\nfound of 100: how many of 100 people in the table an attacker can identify who is wrong about 5 of 100 "
        "outsiders; above 90 is almost no protection"
    )


def print_json(obj: dict[str, Any]) -> None:
    """Print a JSON object on standard output; of numbers that are not finite, which JSON has none of, null."""
    typer.echo(json.dumps(_finite(obj), indent=1, ensure_ascii=False))


def _finite(found: object) -> object:
    if isinstance(found, dict):
        return {name: _finite(one) for name, one in found.items()}
    if isinstance(found, list | tuple):
        return [_finite(one) for one in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def _report_accuracy(explained: dict[str, Any]) -> None:

    out = console()
    out.print(
        f"largest error {explained['accuracy']:g} with probability {explained['confidence']:g} by "
        f"{explained['theorem']}:\nT = {explained['rounds']:,}, s = {explained['draws']:,}, eta = {explained['step']}, "
        f"best responses within {explained['solver_gap_allowed']:g} of optimal; {explained['neighbours']}"
    )
    for row in explained["accountants"]:
        if row["epsilon"] is None:
            out.print(f"{row['accountant']:>9}: {row['refused']}")
            continue
        needed = "beyond 10^15" if row["size_needed"] is None else f"{row['size_needed']:,}"
        out.print(
            f"{row['accountant']:>9}: epsilon = {row['epsilon']:.4g} at n = {explained['size']:,}, delta = "
            f"{row['delta']:g}; epsilon = {explained['epsilon_wanted']:g} needs n = {needed}"
        )
