"""The request of a run: all public inputs but the number of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import comb
from typing import Any, Unpack

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.dualquery import run_columns
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import LARGEST_SPARSE_DENSITY
from dpopt.algorithms.measured.stages import MOST_SETS
from dpopt.algorithms.options import AUTO, Auto, DualQuery, Options, PlanRequest, Projection
from dpopt.algorithms.registry import OPTIONS, algorithm_of, options_named, plan_of, predict
from dpopt.algorithms.terms import AlgorithmKeywords, Keywords, ReadingKeywords, ReleaseTerms
from dpopt.arguments import check_types, refuse_unknown
from dpopt.errors import DpoptError, PlanError, ReleaseFolderError
from dpopt.files.reading import damage_as
from dpopt.private.readers.table_reading import AS_USUAL, Layout, TableReading
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import check_output, usual_format
from dpopt.releases.measured_size import is_measured
from dpopt.releases.plan import MOST_DELTA, FreeAttributes, choice, usual_delta, whole_number
from dpopt.releases.progress import Progress
from dpopt.releases.public_population.population import MOST_ATTRIBUTES
from dpopt.releases.values import SHARE
from dpopt.schema.schema import Schema

ONES_IN_A_RECORD = 40
"""Ones that a record of a sparse table is assumed to have: 9, 34, 37, 93 and 165 are the means of five public tables of
purchases, visits and ratings."""

SPARSE_MATRIX, BIT_TABLE = "a sparse matrix", "a table of bits"
"""How a table in memory is handed over; files have a `Layout`."""

_SPARSE = (*(layout.value for layout in Layout if layout is not Layout.BITS), SPARSE_MATRIX)
LEAST_SPARSE_COLUMNS = round(ONES_IN_A_RECORD / LARGEST_SPARSE_DENSITY)
"""With fewer columns 40 ones would be no sparse record, and tables are planned as dense ones whatever their layout."""


@dataclass(frozen=True, slots=True)
class AssumedDensity:
    """The assumptions, from public values alone."""

    density: float | None
    """Share of ones of a sparse table; None for a dense one, with about as many ones as zeros."""
    form: str | None
    """How the table is handed over; None where that is not known."""
    because: str
    """Why, in words."""


def assumed_density(schema: Schema, form: str | None) -> AssumedDensity | None:
    """Return the assumptions about a wide table without a declared share of ones; None for other tables.

    Layouts that list ones alone (npz, mtx, baskets, pairs, a sparse matrix in memory) are chosen where most cells are
    zeros; so from 400 columns on 40 ones are assumed in a record. Neither the layout nor the number of columns says
    anything about the records: both are public, and the release holds them. `form` is a `Layout`, `SPARSE_MATRIX` or
    `BIT_TABLE`; None where it is not known, as for a plan without a table.
    """
    if not schema.is_binary:
        return None
    width, density = len(schema), None
    how = f"the layout {form}" if form in tuple(Layout) else form
    if form is None:
        because = "no layout is given, so dpopt assumes about as many ones as zeros"
    elif form not in _SPARSE:
        because = f"{how} holds zeros and ones, so dpopt assumes about as many ones as zeros"
    elif width < LEAST_SPARSE_COLUMNS:
        because = (
            f"{how} lists only ones, but for {width:,} columns (fewer than {LEAST_SPARSE_COLUMNS}) dpopt assumes about "
            f"as many ones as zeros"
        )
    else:
        density = ONES_IN_A_RECORD / width
        because = f"{how} lists only ones, so dpopt assumes {ONES_IN_A_RECORD} ones in a record of {width:,} columns"
    return AssumedDensity(density, form, because)


def check_density_known(terms: Terms, schema: Schema, form: str | None) -> None:
    """Refuse to plan a wide table of zeros and ones as a dense one unless its share of ones is declared.

    Rounds and draws for dense tables make errors several times larger where most values are 0. Whether they are is
    private, so it can only be declared: this looks at the number of columns, the layout and the options.
    """
    assumed, options = assumed_density(schema, form), terms.algorithm
    if terms.density is not None or assumed is None or assumed.density is not None:
        return
    depends = isinstance(options, Auto) or algorithm_of(options).knows_density
    fixed = None not in getattr(options, "numbers", (None,))
    if len(schema) > MOST_ATTRIBUTES and depends and not fixed:
        raise PlanError(
            f"the table has {len(schema):,} columns of zeros and ones, and no share of ones is declared. Rounds for "
            f"dense tables make errors several times larger on sparse ones, so dpopt assumes neither. Give --density: "
            f"the publicly known average number of ones in a record, divided by the number of columns (0.5 if half of "
            f"the values are ones)" + (", or --layout, the form of the table" if form is None else "")
        )


REQUEST_VERSION = 1
RESERVATION, NOT_PRIVATE = "reservation", "not_private"
"""Under these names a statement has the mark of a reservation in the owner's budget over many releases, and why a run is not
private; a request has fields of these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(ReleaseTerms):
    """The terms of a release of records, besides table, schema, workload and folder."""

    algorithm: Options = field(default_factory=Auto)
    """The options of an algorithm; their kind says which."""
    reading: TableReading = AS_USUAL
    """How the table is read: layout, names of columns, treatment of values that the schema does not declare."""

    @classmethod
    def of(cls, algorithm: Options | str = AUTO, **given: Unpack[Keywords]) -> Terms:
        """Return terms from keywords: the fields above, and for an algorithm that is named, or a reading, theirs."""
        refuse_unknown("release", given, Keywords.__annotations__)
        check_types("release", {"reading": given.get("reading")}, {"reading": TableReading | None})
        options = {
            name: value
            for name, value in given.items()
            if name in AlgorithmKeywords.__annotations__ and value is not None
        }
        reading: Any = {name: value for name, value in given.items() if name in ReadingKeywords.__annotations__}
        if isinstance(algorithm, Options) and options:
            raise PlanError(f"give {', '.join(options)} as options of the algorithm object, not as keywords")
        if given.get("reading") is not None and reading:
            raise PlanError(f"give reading, or {', '.join(reading)} as keywords, and not both")
        own = {one.name for one in fields(ReleaseTerms)}
        others: Any = {name: value for name, value in given.items() if name in own}
        return cls(
            algorithm=algorithm if isinstance(algorithm, Options) else options_named(algorithm, options),
            reading=given.get("reading") or TableReading(**reading),
            **others,
        )

    @property
    def relation(self) -> NeighbouringRelation:
        """Which tables count as neighbours."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.neighbours or "add-remove", "neighbours")
        return relation

    @property
    def measures_size(self) -> bool:
        """Whether the number of records has to be measured."""
        return is_measured(self.relation, self.n0)

    def budget(self) -> Budget:
        """Return the budget."""
        accountant = None if self.accountant is None else choice(Accountant, self.accountant, "accountant")
        return Budget.of(
            self.epsilon,
            self.delta,
            self.rho,
            accountant,
            usual_delta=usual_delta(self.n0),
            rows_per_person=self.reading.rows_per_person,
        )

    def complete(self) -> Terms:
        """Return the terms with the delta and the accountant that they stand for, as they are put on file."""
        budget = self.budget()
        return replace(self, delta=budget.delta, accountant=budget.accountant.value)

    def with_cost_as_budget(self, size: int | None, progress: Progress) -> Terms:
        """Return the terms with the cost of their rounds as the budget, if T, s and eta are given and no budget is.

        Nothing else is paid from it: numbers within bins, one-way marginals and a measured number of records take shares
        of a budget that is given. `size` is the public number of records, None where the table has yet to tell it.
        """
        asked = self.algorithm
        if self.epsilon is not None or self.rho is not None or not isinstance(asked, DualQuery):
            return self
        rounds, draws, step = asked.numbers
        if (rounds, draws, step) == (None, None, None):
            return self
        if rounds is None or draws is None or step is None:
            raise PlanError(
                "found no budget: give --epsilon (with or without --delta) or --rho, and dpopt fits --rounds, --draws and "
                "--step to it; or give all three, and the plan states their cost"
            )
        if self.values_share or asked.free_attributes == FreeAttributes.ESTIMATED.value:
            what = "--values-share" if self.values_share else "--free-attributes estimated"
            raise PlanError(
                f"{what} takes a share of a budget: give one by --epsilon or --rho, or leave the option out"
            )
        if size is None or self.measures_size:
            raise PlanError(
                "what T, s and eta cost depends on the number of records: declare a public one by --n0 (with --neighbours "
                "replace by --n, in a plan that the release takes), or give --epsilon, of which a part measures it"
            )
        budget = replace(self, epsilon=1.0).budget()  # its accountant, delta and unit; its epsilon is found here
        run = run_columns(rounds, draws, float(step), size, self.relation, group=budget.group)
        cost = run.epsilon(budget.accountant, budget.delta)
        what = f"T = {rounds:,}, s = {draws:,} and eta = {step}"
        if cost == 0:
            raise PlanError(f"{what} cost nothing, and do not depend on the records: take 2 rounds or more")
        priced = replace(self, epsilon=cost, values_share=0.0)
        progress.note(f"no budget is given: {what} cost {priced.budget().describe()}, which is the budget")
        return priced

    def request(self, size: int, budget: Budget | None = None) -> PlanRequest[Options]:
        """Return the planning request for a public size; `budget` is the terms' own, less earlier spending."""
        self.reading.check_relation(self.relation)
        return PlanRequest(
            size,
            self.relation,
            self.budget() if budget is None else budget,
            self.algorithm,
            self.density,
            self.values_share,
        )

    def output(self, schema: Schema | None = None, size: int | None = None) -> dict[str, Any]:
        """Return how the records (or answers) over a schema are written; without a schema, the part known before.

        `size` is the public number of records: so many rows are written where no other number is asked for, and no
        weights.
        """
        answers_only = self.algorithm.answers_only
        asked = None if self.rows is None else whole_number("the number of rows", self.rows, least=1)
        rows = None if self.weights or answers_only else asked or size
        usual = "csv" if schema is None else usual_format(schema, answers_only=answers_only)
        written = {"format": usual if self.format is None else self.format, "rows": rows}
        return written if rows is None else {**written, "searched": True}

    def check(self) -> None:
        """Refuse, before any table is read, terms that contradict each other."""
        self.request(1 if self.n0 is None else self.n0)
        if self.rows is not None and self.algorithm.answers_only:
            raise PlanError(
                f"--rows is for algorithms that release records, found --algorithm {self.algorithm.algorithm}; leave "
                f"the option out, or name another algorithm"
            )
        if self.values_share is not None:
            SHARE(self.values_share, PlanError)
        if self.rows is not None and self.weights:
            raise PlanError(
                f"found --rows {self.rows} and --weights: rows have no weights; leave one of the options out"
            )
        check_output(self.output())


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """The request of a release."""

    terms: Terms
    """With the reading of the table as it is published."""
    schema: Schema
    workload: Workload
    form: str | None = None
    """How a wide table is handed over; see `dpopt.algorithms.stating.plan_and_statement`."""
    reservation: str | None = None
    """The mark of its reservation in the owner's budget over many releases, where it is paid from one."""
    not_private: str | None = None
    """Why the ledger is marked as not private, as where draws are seeded; kept for a run that is resumed."""

    @property
    def statement(self) -> Mapping[str, Any]:
        """How the table is read, from where the run is paid, and why it is not private if so, as a job states it."""
        marks = {RESERVATION: self.reservation, NOT_PRIVATE: self.not_private}
        known = {key: value for key, value in marks.items() if value is not None}
        return {"reading": self.terms.reading.to_json(), **known}

    def to_json(self) -> dict[str, Any]:
        """Return terms and form as a JSON object; schema and workload have files of their own."""
        options = self.terms.algorithm
        return {
            "dpopt_request": REQUEST_VERSION,
            "terms": {
                **{one.name: getattr(self.terms, one.name) for one in fields(Terms)},
                "algorithm": {"name": options.algorithm, **options.to_json()},
                "reading": self.terms.reading.to_json(),
            },
            "form": self.form,
            RESERVATION: self.reservation,
            NOT_PRIVATE: self.not_private,
        }

    @classmethod
    def from_json(cls, obj: Mapping[str, Any], schema: Schema, workload: Workload) -> ReleaseRequest:
        """Read the output of `to_json`."""
        known = {one.name for one in fields(Terms)}
        with damage_as(ReleaseFolderError, "the request on file is damaged, or of another version of dpopt"):
            given, options = dict(obj["terms"]), dict(obj["terms"]["algorithm"])
            kind = OPTIONS[options.pop("name")]
            if obj["dpopt_request"] != REQUEST_VERSION or set(given) != known or not set(options) <= set(kind.known):
                raise ValueError("continue with the version that began the run")
            given |= {"algorithm": kind(**options), "reading": TableReading.from_json(given["reading"])}
            if given["epsilon"] is not None and given["delta"] is None:
                given["delta"] = 0.0  # requests of earlier versions: epsilon alone was pure differential privacy
            terms = Terms(**given)
        terms.check()
        texts = [obj.get(key) for key in ("form", RESERVATION, NOT_PRIVATE)]
        return cls(terms, schema, workload, *(None if text is None else str(text) for text in texts))


GUESS = 10_000
"""Records that the default workload is chosen for, where no public number is known yet."""
_GUESSED = (
    f"; chosen as for {GUESS:,} records, since their number is not known yet; --n0, or a plan for --n, takes another"
)
WIDTH, MOST_OF_TRIPLES = 3, 5_000_000
"""Attributes of a marginal, and cells of all of three attributes, that are asked by default, at most."""
CLEARLY = 1.25
"""How many times smaller than that of independent columns the predicted mean error of three-way marginals must be."""
WIDE = "conjunctions:3,count=100000,seed=0"


def delta_in_words(terms: Terms) -> str | None:
    """Return in words which delta a budget of epsilon alone has, and why; None where one is given, or none needed."""
    if terms.epsilon is None or terms.delta is not None or terms.accountant == "pure":
        return None
    why = (
        "fixed before the number of records is measured: below 1/n for up to a billion records, below 1/n^2 for up to "
        "31,622"
        if terms.n0 is None
        else f"1/n0^2 for n0 = {terms.n0:,}, rounded down, and at most {MOST_DELTA:g}"
    )
    return f"delta: {usual_delta(terms.n0):g}, {why}; --delta takes another, and --delta 0 pure differential privacy"


def usual_workload(schema: Schema, terms: Terms, size: int | None) -> tuple[Workload, str]:
    """Return the queries of a release that names none, and in words why these.

    All three-way marginals, where they have at most 5,000,000 cells, can be measured together, and are predicted, for
    the budget of the terms, a mean error that is clearly (`CLEARLY`) below that of noisy columns taken as independent;
    otherwise all two-way marginals. Of tables of more than 100 columns of zeros and ones: 100,000 random conjunctions
    of three conditions. `size` is the public number of records, or a guess of it; None stands for 10,000.
    """
    if schema.is_binary and len(schema) > MOST_ATTRIBUTES:
        return parse_workload(WIDE, schema), _workload_in_words(WIDE, f"{len(schema):,} columns of zeros and ones")
    text, why, guessed = f"marginals:{min(WIDTH, len(schema))}", None, ""
    if len(schema) < WIDTH or (why := _too_many(schema)) is None:
        workload = parse_workload(text, schema)
        if len(schema) >= WIDTH:
            why = _against(workload, terms, GUESS if size is None else size)
            guessed = _GUESSED if size is None else ""
    if why is not None:
        text = "marginals:2"
        workload = parse_workload(text, schema)
    shape = f"all {text[-1]}-way marginals of {len(schema)} columns, {len(workload):,} cells"
    return workload, _workload_in_words(text, (shape if why is None else f"{shape}, since {why}") + guessed)


def _workload_in_words(text: str, because: str) -> str:
    return f"workload: {text} ({because}); --workload takes others"


def _too_many(schema: Schema) -> str | None:
    """Return why there are too many three-way marginals; None if there are not."""
    cells = _cells_of_triples(schema)
    if cells > MOST_OF_TRIPLES:
        return f"those of three columns have {cells:,} cells, more than {MOST_OF_TRIPLES:,}"
    sets = sum(comb(len(schema), order) for order in range(1, WIDTH + 1))
    if sets > MOST_SETS:
        return f"there are {sets:,} sets of up to three columns, more than the {MOST_SETS:,} that are measured together"
    return None


def _against(workload: Workload, terms: Terms, size: int) -> str | None:
    """Return the reason against measuring all three-way marginals; None without one."""
    try:
        plan = plan_of(replace(terms.request(size), options=Projection()), workload)
        predicted = predict(plan, workload)
    except DpoptError:
        return "those of three columns cannot be measured together"
    columns = (predicted.baselines or {}).get("independence")
    if columns is None or CLEARLY * predicted.mean_error <= columns["mean_error"]:
        return None
    return (
        f"for {size:,} records and this budget those of three columns would have a mean error of "
        f"{predicted.mean_error:.2g}, hardly less than that of noisy, independent columns, {columns['mean_error']:.2g}"
    )


def _cells_of_triples(schema: Schema) -> int:
    """Return the number of cells of all marginals of three attributes: the third elementary symmetric polynomial."""
    ones, squares, cubes = (int((schema.sizes.astype(object) ** power).sum()) for power in (1, 2, 3))
    return int((ones**3 - 3 * ones * squares + 2 * cubes) // 6)
