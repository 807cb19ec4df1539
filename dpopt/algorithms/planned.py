"""A plan that is made once: shown, put on file, and carried out by a release. Reads no record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack

from dpopt.accounting.budget import power_of_tests, protection
from dpopt.algorithms.explain import explain
from dpopt.algorithms.measured.expected import sampling_error
from dpopt.algorithms.measured.figures import predict_widths
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.options import AUTO, Auto, Options
from dpopt.algorithms.registry import candidates_for
from dpopt.algorithms.request import ReleaseRequest, Terms, check_density_known
from dpopt.algorithms.stating import plan_and_statement, prepare, remarks_on, tell
from dpopt.algorithms.terms import Keywords, with_terms
from dpopt.errors import DpoptWarning, PlanError
from dpopt.files.json_files import read_json_object
from dpopt.files.written_files import check_replaceable, whole_file
from dpopt.html_pages.shown import Shown
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.workloads.workload import Workload, parse_workload, workload_from_json
from dpopt.releases.measured_size import tell_smallest, with_size_measured
from dpopt.releases.plan import Plan
from dpopt.releases.progress import Progress, shown_progress
from dpopt.schema.schema import Schema

WHAT_A_RELEASE_ADDS = ("accept_draft", "reading", "rows", "weights", "format")
"""Terms that are no part of a plan on file: how this table is read, and how its records are written."""

PLAN_BEGINS = b'{"dpopt_request"'

SAMPLE, MOST_FOUND = 0.1, 50.0
"""The rule of `recommended_epsilon`: the share of the records whose sampling error is enough; people found."""
_MORE_ERROR = "Ask for fewer or smaller marginals, or accept a larger error"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Planned(Shown):
    """The measurements of a release, its cost and its expected accuracy; see `plan`.

    Attributes
    ----------
    request : ReleaseRequest
        Schema, workload and terms; in these the algorithm that was chosen, with its options.
    plan : Plan
        For the number of records that was given.
    statement : Mapping
        What is known of it, as a release states it: proven and predicted errors.

    Examples
    --------
    >>> import dpopt, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> planned = dpopt.plan(schema, "marginals:1", n=1000, epsilon=1, algorithm="projection", predict=False)
    >>> planned.chosen["algorithm"], planned.row["epsilon"], len(planned.remarks)
    ('projection', 1.0, 1)
    >>> planned.protects
    'An attacker who is wrong about 5 % of outsiders can identify at most 13.6 % of the people in the table.'
    >>> planned.like_a_sample_of is None, planned.explained == planned.to_json()["planned"], planned.widths
    (True, True, [])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     planned.save(f"{folder}/plan.json")  # for `dpopt.release(..., plan=...)`
    """

    request: ReleaseRequest
    plan: Plan
    statement: Mapping[str, Any]

    def _said(self) -> list[str]:
        predicted = self.statement["predicted"]
        errors = ("mean", "max") if predicted else ()
        return [
            self.plan.algorithm,
            f"{len(self.request.workload):,} queries",
            f"n={self.plan.size}",
            *(f"predicted {name} error={predicted[f'{name}_error']:.2g}" for name in errors),
            self.plan.budget.describe(),
            self.plan.budget.neighbours(self.plan.relation),
        ]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]] | None:
        return (("before you run it",), ([remark] for remark in self.remarks)) if self.remarks else None

    @property
    def explained(self) -> dict[str, Any]:
        """The plan with cost, errors, memory and reasons, as a JSON object."""
        return {
            **explain(self.plan, self.request.workload, self.statement),
            "protects": self.protects,
            "like_a_sample_of": self.like_a_sample_of,
            **({"figures": widths} if (widths := self.widths) else {}),
        }

    @property
    def widths(self) -> list[dict[str, Any]]:
        """How wide intervals of the plan's figures will be (`dpopt.algorithms.measured.figures`)."""
        return predict_widths(self.plan, self.request.workload) if isinstance(self.plan, MeasuredPlan) else []

    @property
    def protects(self) -> str:
        """The unit that the guarantee protects, in one sentence of plain words."""
        spent = self.plan.budget.whole()
        return f"{protection(spent.epsilon, spent.delta)}."

    @property
    def like_a_sample_of(self) -> float | None:
        """How many records a random sample has whose mean error is the predicted one; None where either is unknown.

        From public values alone, as predicted errors are.
        """
        predicted, size = self.statement["predicted"], self.plan.size
        sampling = sampling_error(self.request.workload, size, self.request.terms.density)
        if sampling is None or not predicted or not predicted["mean_error"]:
            return None
        return size * float(sampling / predicted["mean_error"]) ** 2

    @property
    def row(self) -> dict[str, Any]:
        """Figures by which an owner compares epsilons, as JSON: predicted errors, sampling errors, protection."""
        predicted = self.statement["predicted"] or {}
        named = ("mean_error", "max_error", "low", "high", "distance")
        spent = self.plan.budget.whole()
        return {
            "epsilon": spent.epsilon,
            "algorithm": self.plan.algorithm,
            **{name: predicted.get(name) for name in named},
            "baselines": predicted.get("baselines") or {},
            "verdict": predicted.get("verdict"),
            "like_a_sample_of": self.like_a_sample_of,
            "found_of_100": 100 * power_of_tests(spent.epsilon, spent.delta),
            "protects": self.protects,
        }

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The "algorithm", the reason ("because"), and the alternatives that `auto` "considered", if it chose."""
        return self.statement.get("chosen") or {"algorithm": self.plan.algorithm, "because": "it was asked for"}

    @property
    def remarks(self) -> list[str]:
        """Notes to read before it is run."""
        found = remarks_on(self.plan, self.statement, self.request.schema)
        return [f"warning: {one}" if isinstance(one, DpoptWarning) else one for one in found]

    def to_json(self) -> dict[str, Any]:
        """Return the plan for a file: the request that a release carries out, and its consequences for readers."""
        return {
            **self.request.to_json(),
            "schema": self.request.schema.to_json(),
            "workload": self.request.workload.to_json(),
            "planned": self.explained,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, for a release to take. All of it is public.

        Raises ReleaseFolderError if that is another file than a plan, or it cannot be written.
        """
        check_replaceable(path, PLAN_BEGINS, "plan of dpopt")
        with whole_file(Path(path)) as file:
            file.write(json.dumps(self.to_json(), indent=1, ensure_ascii=False, allow_nan=False).encode())


@with_terms
def plan(
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str | None = None,
    *,
    n: int | None = None,
    algorithm: Options | str = AUTO,
    progress: Progress | bool | None = None,
    compare: bool = False,
    **terms: Unpack[Keywords],
) -> Planned:
    """Plan a release: its cost, and how accurate it is expected to be. Reads no record.

    Parameters
    ----------
    schema, workload, algorithm
        As of `dpopt.release`.
    n : int, optional
        The number of records to plan for: under replace the public one; under add-remove a guess of the number that the
        release measures, or left out where `n0` declares it.
    progress : Progress or bool, optional
        As of a release.
    compare : bool
        Whether `auto` also predicts the errors of algorithms that it never chooses.
    **terms
        The terms below, and the other keywords of `dpopt.release`.

    Terms
    -----
    {terms}

    Raises
    ------
    DpoptError
        For whatever is wrong with the input.

    Examples
    --------
    >>> schema = Schema.binary(3)
    >>> made = plan(schema, "marginals:2", n=1000, epsilon=1, predict=False, algorithm="projection")
    >>> made.plan.algorithm, len(made.request.workload), made.request.terms.delta
    ('projection', 12, 1e-09)
    """
    progress = shown_progress(progress)
    made = planned_for(schema, workload, n, algorithm, progress, terms, compare=compare)
    tell(remarks_on(made.plan, made.statement, made.request.schema), progress)
    return made


def planned_for(
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str | None,
    n: int | None,
    algorithm: Options | str,
    progress: Progress,
    terms: Keywords,
    *,
    compare: bool = False,
    runs: int = 2,
) -> Planned:
    """Return a plan, its errors predicted by a number of simulations; `tell` has to show its remarks."""
    drafted: Keywords = {"accept_draft": True, **terms}
    given = Terms.of(algorithm, **drafted)
    size = _size(given, n)
    asked = prepare(given, schema, workload, progress, size)
    form = None if asked.terms.reading.layout is None else str(asked.terms.reading.layout)
    check_density_known(asked.terms, asked.schema, form)
    budget = asked.terms.budget()
    if asked.terms.measures_size:
        tell_smallest(budget, progress)
    made, statement = plan_and_statement(
        asked.terms,
        size,
        asked.workload,
        progress,
        runs=runs,
        compare=compare,
        form=form,
        budget=with_size_measured(budget) if asked.terms.measures_size else budget,
    )
    options = next(one for one in candidates_for(asked.terms.algorithm) if one.algorithm == made.algorithm)
    chosen = replace(
        asked.terms,
        algorithm=options,
        neighbours=asked.terms.relation.value,
        accept_draft=bool(terms.get("accept_draft", False)),
    )
    return Planned(replace(asked, terms=chosen, form=form), made, statement)


def _size(terms: Terms, n: int | None) -> int:
    """Return the number of records to plan for: n, or under add-remove the n0 that a release would declare."""
    n0 = terms.n0
    if n0 is not None and terms.relation.value != "add-remove":
        raise PlanError(f"--n0 is for add-remove; under {terms.relation.describe()} give the number of records by --n")
    if n is not None and n0 is not None:
        raise PlanError(
            "found --n and --n0; give --n, a guess of the number that a release measures, or --n0, the number that it "
            "declares"
        )
    if n is None and n0 is None:
        raise PlanError("the plan needs a number of records: give --n, or --n0 if the release declares it")
    return n if n0 is None else n0  # type: ignore[return-value]  # one of the two is given


def read_planned(path: str | os.PathLike[str]) -> ReleaseRequest:
    """Read the request of a plan on file."""
    obj: dict[str, Any] = read_json_object(path, "plan", PlanError)
    if not {"dpopt_request", "schema", "workload"} <= obj.keys():
        raise PlanError(
            f"{path} is not a plan for a release; write one with 'dpopt plan ... -o plan.json' (the plan.json "
            f"of a release folder is for one number of records, and belongs to that release)"
        )
    schema = Schema.from_json(obj["schema"])
    return ReleaseRequest.from_json(obj, schema, workload_from_json(obj["workload"], schema))


def terms_of_plan(planned: ReleaseRequest, schema: Schema | None, workload: Workload | None, given: Terms) -> Terms:
    """Return the terms of a release that takes a plan: the plan's, and those of the release (`WHAT_A_RELEASE_ADDS`)."""
    if schema is not None and schema.to_json() != planned.schema.to_json():
        raise PlanError(
            "the schema is not the one that the plan was made for; leave --schema out, or plan again with this one"
        )
    if workload is not None and workload.fingerprint != planned.workload.fingerprint:
        raise PlanError("the workload is not the plan's; leave --workload out, or plan again with this one")
    usual, terms = Terms(), planned.terms
    for name in (one.name for one in fields(Terms) if one.name not in WHAT_A_RELEASE_ADDS):
        found, kept = getattr(given, name), getattr(terms, name)
        if name == "algorithm" and isinstance(found, Auto) and found == usual.algorithm:
            continue
        if isinstance(found, Options):
            same = (found.algorithm, found.to_json()) == (kept.algorithm, kept.to_json())
        else:
            same = found in (getattr(usual, name), kept)
        if not same:
            shown = (found.algorithm, kept.algorithm) if isinstance(found, Options) else (found, kept)
            raise PlanError(
                f"the plan fixes --{name.replace('_', '-')}: it has {shown[1]!r}, found {shown[0]!r}. Leave the option "
                f"out, or plan again"
            )
    reading = _reading_of_both(given.reading, terms.reading)
    if reading.rows_per_person != terms.reading.rows_per_person:
        raise PlanError(
            f"the plan is for {terms.budget().unit}; give --person COLUMN and --rows-per-person "
            f"{terms.reading.rows_per_person:,}"
            if terms.reading.rows_per_person is not None
            else "the plan is for single records; leave --rows-per-person out, or plan again with it"
        )
    return replace(
        terms,
        reading=reading,
        accept_draft=given.accept_draft,
        rows=given.rows,
        weights=given.weights,
        format=given.format,
    )


def _reading_of_both(given: TableReading, planned: TableReading) -> TableReading:
    """Return how a table is read: as the plan says where nothing else is given. The unit of privacy is compared elsewhere."""
    usual = TableReading()
    if planned.on_invalid not in {usual.on_invalid, given.on_invalid} and given.on_invalid != usual.on_invalid:
        raise PlanError(
            f"the plan fixes --on-invalid: it has {planned.repairs.text}, found {given.repairs.text}. Leave the option "
            "out, or plan again"
        )
    names = {one.name for one in fields(TableReading)} - {"person", "rows_per_person"}
    taken = {name: getattr(planned, name) for name in names if getattr(given, name) == getattr(usual, name)}
    return replace(given, **taken)


def request_of(
    given: Terms,
    schema: Schema | str | os.PathLike[str] | None,
    workload: Workload | str | None,
    made: Planned | str | os.PathLike[str] | None,
    progress: Progress,
) -> ReleaseRequest:
    """Return the request of a release: from the plan that was made, else from schema, workload and terms."""
    if made is None:
        if schema is None:
            raise PlanError("a release needs a schema, or a plan (--plan); found none")
        return prepare(given, schema, workload, progress)
    planned = made.request if isinstance(made, Planned) else read_planned(made)
    declared = schema if schema is None or isinstance(schema, Schema) else Schema.read(schema)
    queries = parse_workload(workload, planned.schema) if isinstance(workload, str) else workload
    terms = terms_of_plan(planned, declared, queries, given)
    line = f"plan: {terms.algorithm.algorithm}, {len(planned.workload):,} queries, {terms.budget().describe()}"
    progress.note(f"{line}; the number of records is measured first" if terms.measures_size else line)
    return prepare(terms, planned.schema, planned.workload, progress)


def by_epsilon(
    schema: Schema,
    workload: Workload | str | None = None,
    *,
    epsilons: Sequence[float],
    n: int | None = None,
    algorithm: Options | str = AUTO,
    progress: Progress | bool | None = None,
    **terms: Unpack[Keywords],
) -> list[Planned]:
    """Return a plan for each epsilon, the smallest first.

    All other inputs are those of `plan`; a workload that is not named is chosen once, for the middle epsilon.
    """
    if not epsilons:
        raise PlanError("found no epsilon; give some, such as .1,.3,1,3")
    ordered, progress = sorted(set(epsilons)), shown_progress(progress)
    if workload is None:
        middle: Keywords = {"accept_draft": True, **terms, "epsilon": ordered[len(ordered) // 2]}
        asked_for = Terms.of(algorithm, **middle)
        workload = prepare(asked_for, schema, None, progress, n).workload
    found = []
    for epsilon in ordered:
        progress.note(f"predicting the errors at epsilon {epsilon:g}")
        asked: Keywords = {"predict": True, **terms, "epsilon": epsilon}
        found.append(planned_for(schema, workload, n, algorithm, progress, asked))
    return found


def recommended_epsilon(plans: Sequence[Planned]) -> tuple[float | None, str]:
    """Return the epsilon of one of some plans by a public rule, and why; None where the rule finds none.

    The rule: the smallest epsilon that is accurate and protects. Accurate: the predicted mean error is at most that of a
    random sample of a tenth of the records. Protects: an attacker who is wrong about 5 % of outsiders can identify at
    most half of the people in the table. The rule uses public values alone; the owner decides which risk is acceptable.

    Parameters
    ----------
    plans : sequence of Planned
        Of one schema and workload, with different epsilons.

    Examples
    --------
    >>> import dpopt
    >>> names = ("smoker", "drinker", "athlete")
    >>> yes_no = [dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in names]
    >>> schema = dpopt.Schema(tuple(yes_no))
    >>> plans = [dpopt.plan(schema, "marginals:2", n=5000, epsilon=epsilon) for epsilon in (0.3, 1)]
    >>> dpopt.recommended_epsilon(plans)[0]
    0.3
    """
    rows = sorted((one.row for one in plans), key=lambda row: float(row["epsilon"]))
    known = [(row["epsilon"], row["like_a_sample_of"], row) for row in rows if row["like_a_sample_of"] is not None]
    if not known:
        return None, "there is nothing to compare: no errors of marginals were predicted"
    size = plans[0].plan.size
    enough = [one for one in known if one[1] >= SAMPLE * size]
    kept = [one for one in enough if one[2]["found_of_100"] <= MOST_FOUND]
    epsilon, like, row = (kept or enough or known[-1:])[0]
    says = f"epsilon {epsilon:.3g} is about as accurate as a random sample of {like:,.0f} of {size:,} records"
    if kept:
        return epsilon, f"{says}, a tenth or more. {row['protects']}"
    if enough:
        return None, f"{says}, a tenth or more, but the protection is weak: {row['protects']} {_MORE_ERROR}"
    return None, f"{says}, less than a tenth. {_MORE_ERROR}"
