"""The options of every algorithm, one frozen dataclass each.

What a user may say, how the command line explains it, what is refused and what a request holds all come from here. No
algorithm is loaded, nor any library: the help of the command line shows options, and must be there at once.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_type_hints

from dpopt.constraints import Constraint, Number, OneOf, Whole, constrain
from dpopt.errors import DpoptError, PlanError
from dpopt.releases.plan import DENSITY, SECONDS, SEED, SIZE, WORK, FreeAttributes, PlanBy, choice

if TYPE_CHECKING:
    from dpopt.accounting.budget import Budget
    from dpopt.accounting.relations import NeighbouringRelation
    from dpopt.programs.solver import Solver
else:
    Solver = object  # the annotations are read to make the command line

AUTO, LOCAL_SEARCH = "auto", "local-search"
PROVES = "cp-sat"
"""The solver of rounds that are to end with a bound, where none is named."""
MOST_SELECTIONS = 10_000
EXACT_SECONDS = 2.0
"""Time limit per round of solvers that could otherwise take hours to prove that a record is best."""
QUERIES, MARGINALS = "queries", "marginals"
RESIDUALS, COUNTS, SELECTED = "residuals", "counts", "selected"
PAPER, DATA_STEP, MAX_ENTROPY = "paper", "mwem", "max-entropy"
UPDATES: dict[str, str] = {
    PAPER: "exp(-alpha/2) where the distribution has too much weight: the lecture's step",
    DATA_STEP: "exp(gap / 2): the step of MWEM",
    MAX_ENTROPY: "the nearest distribution to the first one that agrees with all measured answers up to their noise",
}


@dataclass(frozen=True, slots=True)
class Option:
    """Help and check of an option, besides its type and default."""

    text: str
    """Its meaning, for help."""
    check: Constraint | Callable[[Any, type[DpoptError]], Any] = lambda value, _: value
    """Returns the value in its usual form, or raises `PlanError`; never asked about None."""


def _member(kind: Any, option: str) -> Callable[[Any, type[DpoptError]], str]:
    return lambda value, _: str(choice(kind, value, option).value)


def _decimal(step: Any, error: type[DpoptError]) -> Decimal:
    try:
        value = Decimal(str(step))
    except InvalidOperation:
        raise error(f"the step eta must be a decimal number such as 1.4, found {step!r}") from None
    if not value.is_finite() or not 0 < value <= 1_000_000:
        raise error(f"the step eta must be a positive number of at most 1,000,000, found {step!r}")
    return value


Rounds = Annotated[
    int | None, Option("Number of rounds T. Default: fitted to the budget.", Whole("the number of rounds"))
]
Draws = Annotated[
    int | None, Option("Queries drawn in each round, s. Default: fitted to the budget.", Whole("the number of draws"))
]
Step = Annotated[
    Decimal | str | float | None, Option("Step eta, a decimal number. Default: 1.4, or fitted to the budget.", _decimal)
]
SolverName = Annotated[
    str | Solver,
    Option(
        "Best-response solver, with a formulation where it needs one (highs:clique); see 'dpopt solvers'. auto is the "
        "local search. In Python also an object with the methods of Solver."
    ),
]
Work = Annotated[
    int | None,
    Option("Limit of work in each round, in the solver's own deterministic unit (local search: sweeps).", WORK),
]
Seconds = Annotated[
    float | None,
    Option(
        "Time limit of the solver in each round, in seconds; 2 for exact solvers if neither this nor --work is given.",
        SECONDS,
    ),
]
Seed = Annotated[int, Option("Seed of the solver and of public choices. No private draw depends on it.", SEED)]
Free = Annotated[
    str,
    Option(
        "How attributes that no drawn query mentions get values: first (the first declared value), random, or "
        "estimated (from noisy one-way marginals, which are charged).",
        _member(FreeAttributes, "free-attributes"),
    ),
]


def _questions(given: Any, _: type[DpoptError]) -> tuple[str, ...]:
    from dpopt.answers.questions import read_questions  # a help needs none

    return read_questions(given) if isinstance(given, str | os.PathLike) else tuple(given)


Figures = Annotated[
    str | os.PathLike[str] | Sequence[str] | None,
    Option(
        "File of the questions that matter, as for 'dpopt answer', one on each line; in Python also a list. A third of the "
        "budget measures their columns, and the plan predicts the widths of their intervals. Public.",
        _questions,
    ),
]
Target = Annotated[str | None, Option("A column whose relationships with all others matter most. Public.")]
_records = Whole("the number of records")
WeightedRecords = Annotated[int | None, Option("The most weighted records to release. Default: 100,000.", _records)]
FittedRecords = Annotated[
    int | None,
    Option(
        "Number of records to fit to the noisy counts. Default: 5,000 (kept ten times) with smoothing, and 20,000 without "
        "(2,000 with --solver).",
        _records,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of an algorithm; each kind lists its own, with what they mean.

    Examples
    --------
    >>> asked = DualQuery(rounds=3)
    >>> asked.solver_name, asked.own_solver, asked.time_limit, asked.numbers
    ('local-search', None, None, (3, None, None))
    >>> asked.shared_with(FEM)["rounds"], asked.to_json()["rounds"]
    (3, 3)
    >>> Projection().pricing_name, Projection().names_solver
    ('local-search', False)
    """

    algorithm: ClassVar[str] = ""
    """Name, as on the command line."""
    answers_only: ClassVar[bool] = False
    """Whether answers are released, and no records."""
    candidate: ClassVar[bool] = False
    """Whether `auto` chooses it where it has the least predicted mean error; on public tables a candidate always
    had."""
    example: ClassVar[str | None] = None
    """Some options, as Python code, for the example in the docstring."""
    solver_takes: ClassVar[str] = "MAX_CSP"
    """The `Capability` that the option `solver` asks for."""
    known: ClassVar[Mapping[str, tuple[Any, Option]]] = {}
    """Type and meaning of every option, by name."""

    def __init_subclass__(cls) -> None:
        """Set the meanings of the options, and add them to the docstring."""
        super().__init_subclass__()
        hints = {name: get_args(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}
        cls.known = {
            name: (hint[0], hint[1]) for name, hint in hints.items() if len(hint) == 2 and isinstance(hint[1], Option)
        }
        lines = [
            f"{name} :\n{textwrap.indent(textwrap.fill(option.text, 110), '    ')}"
            for name, (_, option) in cls.known.items()
        ]
        text = [inspect.cleandoc(cls.__doc__ or ""), *(["", "Attributes", "----------", *lines] if lines else [])]
        if (given := vars(cls).get("example")) is not None:
            text += ["", "Examples", "--------", ">>> import dpopt", f">>> dpopt.{cls.__name__}({given}).algorithm"]
            text.append(repr(cls.algorithm))
        cls.__doc__ = "\n".join(text)

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        for name, (_, option) in self.known.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, option.check(value, PlanError))

    @property
    def solver_name(self) -> str:
        """Name of the solver; the local search stands for methods of our own."""
        given = getattr(self, "solver", AUTO)
        name = given if isinstance(given, str) else getattr(given, "name", None)
        if not isinstance(name, str):
            raise PlanError(
                "--solver is the name of one, see 'dpopt solvers', or in Python an object with the methods of Solver; "
                f"found {type(given).__name__}"
            )
        return LOCAL_SEARCH if name == AUTO else name

    @property
    def own_solver(self) -> Solver | None:
        """The solver, where it was given as an object and not by name."""
        given: str | Solver = getattr(self, "solver", AUTO)
        return None if isinstance(given, str) else given

    def shared_with(self, kind: type[Options]) -> dict[str, Any]:
        """Return the options that another kind has, too, in the same meaning."""
        return {name: getattr(self, name) for name, what in self.known.items() if kind.known.get(name) == what}

    def to_json(self) -> dict[str, Any]:
        """Return the options as a JSON object: a solver by its name, a decimal number as a text."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        named = {"solver": self.solver_name} if "solver" in given else {}
        written = {
            name: str(value) if isinstance(value, Decimal) else value for name, value in {**given, **named}.items()
        }
        return {name: _name_of(value) if callable(value) else value for name, value in written.items()}


def _name_of(given: object) -> str:
    """Return the name of a formulation: its own where it is a function."""
    return given if isinstance(given, str) else str(getattr(given, "__name__", type(given).__name__))


@dataclass(frozen=True, kw_only=True)
class Auto(Options):
    """Projection where it measures residuals, else the algorithm with the least predicted mean error, by public values.

    Candidates get the options that they have, too.
    """

    example = "seed=1"
    algorithm = AUTO
    figures: Figures = None
    target: Target = None
    solver: SolverName = AUTO
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class PlayedOptions(Options):
    """The options of algorithms that play rounds of draws and best responses."""

    rounds: Rounds = None
    draws: Draws = None
    solver: SolverName = AUTO
    work: Work = None
    seconds: Seconds = None
    seed: Seed = 0

    @property
    def time_limit(self) -> float | None:
        """Seconds per round; exact solvers get a limit unless the user limits them otherwise."""
        limited = self.seconds is not None or self.work is not None
        return self.seconds if limited or self.solver_name == LOCAL_SEARCH else EXACT_SECONDS


@dataclass(frozen=True, kw_only=True)
class DualQuery(PlayedOptions):
    """DualQuery: records are best responses to queries that are drawn by how badly the records so far answer them."""

    example = "rounds=30"
    algorithm = "dualquery"
    candidate = True
    step: Step = None
    gap: Annotated[
        float | None,
        Option(
            "End a round when its record is, by the solver's own bound, within this share of its draws of the optimum: .02 "
            "adds at most .02 to the error, once 'dpopt certify' proves it. For solvers with bounds; auto then is cp-sat.",
            Number("the gap", least=0, most=1),
        ),
    ] = None
    formulation: Annotated[
        str | Callable[[Any], object] | None,
        Option(
            "Your own formulation of a round, instead of --solver: the name under which a package registers it. In Python "
            "also a function that gets the model of a round, and returns it, changed, in the objects of PuLP, CVXPY, CP-SAT "
            "or MathOpt."
        ),
    ] = None
    free_attributes: Free = FreeAttributes.FIRST.value
    plan_by: Annotated[
        str,
        Option(
            "How dpopt chooses rounds, draws and step if you leave them out: rule, or bound (the smallest proven bound).",
            OneOf("--plan-by", (PlanBy.RULE.value, PlanBy.BOUND.value)),
        ),
    ] = PlanBy.RULE.value

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gap is not None and self.solver == LOCAL_SEARCH:
            raise PlanError(f"--gap needs a bound, and the {LOCAL_SEARCH} proves none; name an exact solver ({PROVES})")
        formulation: object = self.formulation
        if formulation is None:
            return
        if not isinstance(formulation, str) and not callable(formulation):
            found = type(formulation).__name__
            raise PlanError(f"a formulation is a function of a model, or the name of one; found {found}")
        given = self.gap is not None or self.free_attributes != FreeAttributes.FIRST.value
        if given or self.solver not in {AUTO, self.solver_name}:
            raise PlanError(
                "--formulation brings its own solver, proves no bound and sets every attribute; leave --solver, --gap and "
                "--free-attributes out"
            )

    @property
    def solver_name(self) -> str:
        """Name of the solver: a formulation's own; where a gap is asked for, `auto` is an exact one."""
        if self.formulation is not None:
            return f"formulation:{_name_of(self.formulation)}"
        return PROVES if self.gap is not None and self.solver == AUTO else super().solver_name

    @property
    def own_solver(self) -> Solver | None:
        """The solver or formulation, where it was given as an object and not by name."""
        if self.formulation is None or isinstance(self.formulation, str):
            return super().own_solver
        from dpopt.models.best_responses.own_formulation import OwnFormulation  # a help needs none

        return OwnFormulation.of(self.formulation)

    @property
    def numbers(self) -> tuple[int | None, int | None, Decimal | None]:
        """Rounds, draws and step, where the user fixes them."""
        return self.rounds, self.draws, None if self.step is None else Decimal(str(self.step))


@dataclass(frozen=True, kw_only=True)
class FEM(PlayedOptions):
    """FEM: the worst queries are selected, and each round makes records by best responses to them with random rewards."""

    example = "rounds=30"
    algorithm = "fem"
    draws: Annotated[
        int | None, Option("Number of records s of each batch. Default: 100.", Whole("the number of draws"))
    ] = None


@dataclass(frozen=True, kw_only=True)
class Projection(Options):
    """What the workload counts is measured with noise, and records are fitted to it."""

    example = 'measure="counts"'
    algorithm = "projection"
    candidate = True
    measure: Annotated[
        str | None,
        Option(
            "What to measure: residuals (of marginals, order by order; with --accountant zcdp), counts (of every query), or "
            "selected (in each round the marginal that the records answer worst). Default: residuals if possible, else "
            "counts; selected if the noise on all marginals would be large.",
            OneOf("--measure", (RESIDUALS, COUNTS, SELECTED)),
        ),
    ] = None
    selections: Annotated[
        int | None,
        Option(
            "Number of marginals to select and measure. Default: 4 to 100, by size and budget.",
            Whole("the number of selections", most=MOST_SELECTIONS),
        ),
    ] = None
    figures: Figures = None
    target: Target = None
    records: FittedRecords = None
    smoothing: Annotated[
        float | None,
        Option(
            "Strength of a prior of independent attributes, as a number of records; 0 for none. Default: chosen by the "
            "noise, and for residuals by the measurements.",
            Number("smoothing", least=0),
        ),
    ] = None
    column_generation: Annotated[
        int | None,
        Option(
            "The most rounds of column generation, which weights the records and bounds the gap to the best fit. Default: "
            "0, or 50 with --solver. Not with smoothing.",
            Whole("the rounds of column generation", least=0),
        ),
    ] = None
    fit_seconds: Annotated[
        float | None,
        Option(
            "Time limit of each fit, in seconds. Default: none. With a limit the result depends on the machine.",
            Number("the seconds of a fit", above=0),
        ),
    ] = None
    solver: Annotated[
        str | Solver,
        Option(
            "Solver of the convex programs, such as clarabel: the best weights of records in column generation and, if "
            "it takes cones, the noise of each marginal; auto means dpopt's own methods. See 'dpopt solvers'. In Python also "
            "an object with the methods of Solver."
        ),
    ] = AUTO
    pricing_solver: Annotated[
        str,
        Option(
            "Solver that looks for new records in column generation, such as cp-sat; auto means dpopt's own search. See "
            "'dpopt solvers'."
        ),
    ] = AUTO
    seed: Seed = 0
    solver_takes = "CONVEX_QP"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_two_aims(self.smoothing or 0.0, self.column_generation or 0)
        if self.selections is not None and self.measure not in {None, SELECTED}:
            raise PlanError(f"--selections is for --measure {SELECTED}, found --measure {self.measure}; leave one out")
        if (self.figures, self.target) != (None, None) and (self.measure not in {None, RESIDUALS} or self.names_solver):
            raise PlanError(
                f"--figures and --target are for --measure {RESIDUALS} without a solver; leave one of them out"
            )
        if self.names_solver and (self.smoothing or self.column_generation == 0):
            raise PlanError(
                "--solver and --pricing-solver work in column generation; leave --smoothing and --column-generation 0 "
                "out, or name no solver"
            )

    @property
    def pricing_name(self) -> str:
        """Name of the solver that looks for new records."""
        return LOCAL_SEARCH if self.pricing_solver == AUTO else self.pricing_solver

    @property
    def names_solver(self) -> bool:
        """Whether records are weighed or found by a solver that the user named."""
        return (self.solver_name, self.pricing_name) != (LOCAL_SEARCH, LOCAL_SEARCH)


@dataclass(frozen=True, kw_only=True)
class MWEM(Options):
    """MWEM: multiplicative weights on a distribution over all possible records."""

    example = "rounds=9"
    algorithm = "mwem"
    rounds: Rounds = None
    records: WeightedRecords = None
    select: Annotated[
        str | None,
        Option(
            "What a round selects: queries or marginals; if left out queries, and marginals for mwem where the "
            "workload has some.",
            OneOf("--select", (QUERIES, MARGINALS)),
        ),
    ] = None
    update: Annotated[
        str | None,
        Option(
            "How the distribution is updated: max-entropy, mwem or paper; if left out max-entropy, and paper with "
            "a plan by its bound.",
            OneOf("--update", tuple(UPDATES)),
        ),
    ] = None
    selection_share: Annotated[
        float | None,
        Option(
            "Share of each round's budget for the selection, between 0 and 1; if left out .5 for queries and .1 for "
            "marginals.",
            Number("--selection-share", above=0, below=1),
        ),
    ] = None
    replays: Annotated[
        int | None,
        Option(
            "Passes over all measurements so far in each round; if left out 1, 4 for --update mwem and 0 for --update "
            "paper.",
            Whole("the number of replays", least=0),
        ),
    ] = None
    average: Annotated[bool, Option("Release the average of the distributions of all rounds.")] = False
    solver: Annotated[
        str | Solver,
        Option(
            "Solver that finds the released distribution of largest entropy, a convex program with cones, such as "
            "clarabel, for up to 20,000 possible records; auto is our own method. See 'dpopt solvers'. In Python also "
            "an object with the methods of Solver."
        ),
    ] = AUTO
    seed: Seed = 0
    solver_takes = "CONES"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver_name != LOCAL_SEARCH and (self.average or self.update not in (None, MAX_ENTROPY)):
            raise PlanError(
                f"--solver finds the distribution of largest entropy; leave --update and --average out, or leave "
                f"--solver {self.solver_name} out"
            )


@dataclass(frozen=True, kw_only=True)
class PMW(MWEM):
    """PMW: multiplicative weights, stopped when the selected query is answered well."""

    example = "rounds=9"
    algorithm = "pmw"
    rounds: Annotated[
        int | None, Option("The most rounds; fitted to the budget if left out.", Whole("the number of rounds"))
    ] = None
    alpha: Annotated[
        float | None,
        Option(
            "The run ends when a measured answer is within 2 alpha of the distribution's; the standard deviation of "
            "the noise if left out.",
            Number("--alpha", above=0, most=1),
        ),
    ] = None
    plan_by: Annotated[
        str,
        Option(
            "How rounds and alpha are chosen where left out: rule, or bound (the smallest alpha that the theorem "
            "proves of the update paper).",
            OneOf("--plan-by", (PlanBy.RULE.value, PlanBy.BOUND.value)),
        ),
    ] = PlanBy.RULE.value


@dataclass(frozen=True, kw_only=True)
class SmallDatabase(Options):
    """SmallDB: one small database, drawn from all of them by the exponential mechanism on its largest error."""

    example = "records=50"
    algorithm = "smalldb"
    records: Annotated[
        int | None, Option("Number of records of the database; that with the least proven error if left out.", _records)
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class Noise(Options):
    """A noisy answer to every query, and no records."""

    example = ""
    algorithm = "noise"
    answers_only = True


def refuse_two_aims(smoothing: float, columns: int) -> None:
    """Refuse a fit that is both smoothed and weighed by column generation."""
    if smoothing > 0 and columns > 0:
        raise PlanError(
            f"{columns} rounds of column generation seek the best fit, a smoothing of {smoothing:g} pulls away from "
            f"it; set one of the two to 0"
        )


OptionsT_co = TypeVar("OptionsT_co", bound=Options, covariant=True)


@dataclass(frozen=True, slots=True)
class PlanRequest(Generic[OptionsT_co]):
    """The source of a plan: the options of its algorithm, and the terms that all algorithms share."""

    size: Annotated[int, SIZE]
    """Public n (replace-one) or n0 (add-remove)."""
    relation: NeighbouringRelation
    budget: Budget
    options: OptionsT_co
    """The options of the algorithm; their type determines the algorithm."""
    density: Annotated[float | None, DENSITY] = None
    """Public share of ones in a table of zeros and ones, where it is declared or assumed."""
    values_share: float | None = 0.0
    """Share of the budget for numbers within bins; None is the usual one where there are such bins."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        self.budget.check_relation(self.relation)
