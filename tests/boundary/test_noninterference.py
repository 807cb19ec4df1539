"""With the draws scripted, whole runs of every algorithm do not tell two tables apart.

Neither by the programs that the solver gets and what a fit gets, nor by log records, warnings, what is printed, the progress
that is told (times aside), errors, nor by a byte of the release folder. The real decisions are made before the scripted ones
take their place, so that whatever they say, raise or write on the way would be seen. A new algorithm adds a row to `ROWS`.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.measured.plan import NOISE, PROJECTION, FitPlan
from dpopt.algorithms.multiplicative_weights.plan import Learning
from dpopt.algorithms.options import (
    AUTO,
    COUNTS,
    DATA_STEP,
    MARGINALS,
    MAX_ENTROPY,
    PAPER,
    QUERIES,
    RESIDUALS,
    SELECTED,
)
from dpopt.algorithms.release import release
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.errors import PlanError
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, Fitted
from dpopt.private.curators import measuring_curator, multiplicative_curator, net_curator
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.measurements import measurement
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.selections.selection import CandidateScores
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.run import Sources
from dpopt.schema import Rule, equivalent, implies, literal
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.measured_runs import MEASURED, measured_plan
from tests.algorithms.multiplicative_runs import multiplicative_plan
from tests.boundary.noninterference import (
    SECONDS,
    SECRET,
    Leak,
    Seen,
    Watcher,
    contents,
    leak_into_a_log,
    leak_into_a_print,
    leak_into_a_warning,
    leak_into_an_error,
    leak_into_the_journal,
    leaking,
    watched,
)
from tests.scripted import ScriptedNoise, ScriptedSampler
from tests.tiny_jobs import plan_of
from tests.tiny_runs import ADD_REMOVE, REPLACE

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"), missing="?"),
        Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0), integer=True),
    )
)
RULED = Schema(
    SCHEMA.attributes,
    rules=(
        Rule(implies(literal("a", "=", True), literal("b", "!=", "z")), "no z with a"),
        Rule(equivalent(literal("b", "=", "x"), literal("c", "<", 10)), "x is small"),
    ),
)
FEASIBLE = np.array([0, 0, 0], dtype=np.int32)
ROUNDS, SIZE = 4, 5
RHO, PURE = Budget(None, 1e-9, 1e9, Accountant.ZCDP), Budget(1e9, 0.0, None, Accountant.PURE)
SOLVED = (DualQueryPlan, FemPlan)
Rows = list[list[int]]
Strategy = st.SearchStrategy[Any]


def decided(usual: Callable[..., Any], instead: Callable[..., Any], /, *given: Any, **more: Any) -> Any:
    """Decide as usual, then take what is drawn instead."""
    usual(*given, **more)
    return instead(*given, **more)


@dataclass(frozen=True)
class Script:
    """What is drawn: queries, candidates or elements, over and over; and noisy values."""

    queries: tuple[int, ...] = (0, 3, 6, 6, 9)
    noise: tuple[int, ...] = (2, 0, 1)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Decide as the private side does, then take the script's draws, from their beginning."""
        queries = cycle(self.queries)

        def one(below: int) -> int:
            return next(queries) % below

        def many(number: int, below: int) -> NDArray[np.int64]:
            return np.sort(np.array([one(below) for _ in range(number)], dtype=np.int64))

        def multiset(multisets: Any, *_: object, **__: object) -> NDArray[np.int64]:
            return np.bincount(many(multisets.records, multisets.elements), minlength=multisets.elements)

        scripted: list[tuple[Any, str, Callable[..., Any]]] = [
            (QuerySelection, "draw", lambda selection, *_: one(2 * selection._queries)),
            (ExactSampler, "draw", lambda sampler, weights, draws: many(draws, 2 * len(weights._counts))),
            (QuerySelection, "draw_against", lambda selection, answers, _: one(2 * len(answers))),
            (multiplicative_curator, "draw_candidate", lambda weights, _: one(len(weights))),
            (measuring_curator, "draw_candidate", lambda weights, _: one(len(weights))),
            (net_curator, "draw_multiset", multiset),
        ]
        with ExitStack() as stack:
            for place, name, instead in scripted:
                made = partial(decided, getattr(place, name), instead)
                stack.enter_context(mock.patch.object(place, name, lambda *given, f=made, **more: f(*given, **more)))
            noise = ScriptedNoise(list(self.noise))
            stack.enter_context(mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise))
            # Records of a batch are searched one by one: the watcher sees them in their order.
            stack.enter_context(mock.patch("dpopt.algorithms.fem.algorithm.THREADS", 1))
            yield


@contextmanager
def watching(watcher: Watcher, *, solving: bool) -> Iterator[None]:
    """Note everything that a fit gets, and let the watcher be the solver where rounds are solved."""

    def watched_fit(problem: FitProblem, chosen: FitSettings, **more: Any) -> Fitted:
        values = [sha256(term.values.tobytes()).hexdigest() for term in problem.terms]
        weights, start = [term.weight for term in problem.terms], more.get("start")
        watcher.seen.append(f"fit {values} {weights} {chosen} {None if start is None else start.tolist()}")
        return fit(problem, chosen, **more)

    with ExitStack() as stack:
        stack.enter_context(mock.patch("dpopt.algorithms.measured.fitting.fit", watched_fit))
        if solving:
            stack.enter_context(mock.patch("dpopt.solvers.registry.get_solver", return_value=watcher))
        yield


@dataclass(frozen=True)
class Public:
    """Everything public about a run, and the script of its draws."""

    plan: Any
    script: Script = Script()
    text: str = "marginals:2"
    output: Mapping[str, object] = field(default_factory=dict)
    behaviour: str = "local-search"
    cut: int | None = None
    ruled: bool = False

    def run(self, table: Rows) -> Seen:
        """Play on a table, cut the transcript off somewhere and continue; return what was seen and the folder."""
        watcher, schema = Watcher(self.behaviour), RULED if self.ruled else SCHEMA
        job = Job(self.plan, schema, parse_workload(self.text, schema), dict(self.output), {})
        dataset = PrivateDataset.from_codes(schema, list(np.array(table, dtype=np.int32).T))
        with (
            tempfile.TemporaryDirectory() as temporary,
            watching(watcher, solving=isinstance(self.plan, SOLVED)),
            mock.patch("dpopt.algorithms.dualquery.algorithm.feasible_record", return_value=FEASIBLE),
        ):
            folder = Path(temporary) / "release"
            with self.script.drawing(), watched(watcher.seen):
                run_release(dataset, job, folder, progress=watcher)
            if self.cut is not None:
                transcript = folder / "transcript.jsonl"
                data = transcript.read_bytes()
                transcript.write_bytes(data[: max(1, len(data) * self.cut // 1000)])
                (folder / "release.json").unlink(missing_ok=True)
                with self.script.drawing(), watched(watcher.seen):
                    resume_run(folder, dataset, read_job(folder), progress=watcher)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


# Plans.

relations, yes_or_no = st.sampled_from(NeighbouringRelation), st.booleans()


@st.composite
def dualquery_plans(draw: st.DrawFn, make: Callable[..., Any], steps: Sequence[str]) -> Any:
    rule, gaussian = draw(st.sampled_from(FreeAttributes)), draw(yes_or_no)
    return make(
        relation=draw(relations),
        step=Decimal(draw(st.sampled_from(steps))),
        free_attributes=rule,
        one_way=OneWayMeasurement(3.0, gaussian) if rule is FreeAttributes.ESTIMATED else None,
        seed=draw(st.integers(0, 3)),
    )


def drawing_plan(relation: NeighbouringRelation = REPLACE, **changes: Any) -> Any:
    """Return a plan of DualQuery; one of the accountant gdp where nothing else is measured with Gaussian noise."""
    one_way, seed = changes.get("one_way"), changes.get("seed", 0)
    gdp = not (one_way is not None and one_way.gaussian) and seed % 2
    budget = Budget(1e6, 1e-9, None, Accountant.GDP) if gdp else RHO
    usual = {"draws": 4, "step": Decimal(1), "attributes": 3}
    return plan_of("dualquery", relation=relation, budget=budget, size=SIZE, **{**usual, **changes})


def residual_plan(relation: NeighbouringRelation = REPLACE, seed: int = 0) -> Any:
    """Return a plan that measures residuals for three attributes."""
    stages = plan_of(RESIDUALS).stages
    distances = replace(stages[1], bound=3 * stages[1].bound)
    return plan_of(RESIDUALS, relation=relation, size=SIZE, seed=seed, stages=(stages[0], distances, stages[2]))


def fem_plan(algorithm: str, relation: NeighbouringRelation = REPLACE, range_: str = "1.5", seed: int = 0) -> Any:
    own = {"rounds": ROUNDS, "records": 3, "selection_range": Decimal(range_), "kept_from": 2, "seed": seed}
    return plan_of(algorithm, relation=relation, size=SIZE, **own)


FITS = (
    FitPlan(records=8, sweeps=1),
    FitPlan(records=6, sweeps=1, columns=2),
    FitPlan(records=6, sweeps=1, snapshots=2, smoothing=3.0),
)


def measuring_plan(what: str, relation: NeighbouringRelation = REPLACE, chosen: FitPlan = FITS[0], **how: Any) -> Any:
    fit = None if what == NOISE else chosen
    return measured_plan(what, schema=SCHEMA, relation=relation, size=SIZE, fit=fit, **how)


def small_plan(relation: NeighbouringRelation = REPLACE, records: int = 4) -> Any:
    own = {"records": records, "reach": Decimal(1), "budget": Budget(1.0, 0.0, None, Accountant.PURE)}
    return plan_of("smalldb", relation=relation, size=SIZE, selection_range=Decimal("0.9"), **own)


# Everything public about generated runs.

OUTPUTS = st.fixed_dictionaries({"format": st.sampled_from(["csv", "parquet"]), "rows": st.sampled_from([None, 7])})
BEHAVIOURS = st.sampled_from(["local-search", "local-search", "fails", "answers nonsense"])
FEM_TEXTS = ("marginals:2", "conjunctions:2,count=6,seed=1", "parity:2,count=6")
FEW_CLASSES = "conjunctions:1,count=3,seed=1"


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    return Script(
        tuple(draw(st.lists(st.integers(0, 40), min_size=1, max_size=12))),
        tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))),
    )


def publics_of(plans: Strategy, text: Strategy = st.just("marginals:2"), **more: Strategy) -> Strategy:  # noqa: B008
    """Return runs of plans, cut off anywhere or nowhere, with rules or without."""
    return st.builds(Public, plans, scripts(), text, cut=st.none() | st.integers(0, 999), ruled=yes_or_no, **more)


@st.composite
def measured_publics(draw: st.DrawFn) -> Public:
    what, texts = draw(st.sampled_from(MEASURED)), ["marginals:2"]
    texts += ["conjunctions:2,count=6,seed=1", "parity:2,count=4"] * (what != SELECTED)
    text = draw(st.sampled_from(texts))
    chosen: dict[str, Any] = {"gaussian": draw(yes_or_no), "chosen": draw(st.sampled_from(FITS)), "text": text}
    plan = measuring_plan(what, draw(relations), **chosen)
    made: Public = draw(publics_of(st.just(plan), st.just(text), output=OUTPUTS))
    return made


@st.composite
def multiplicative_publics(draw: st.DrawFn) -> Public:
    select = draw(st.sampled_from([QUERIES, MARGINALS]))
    queries = select == QUERIES
    texts = ["marginals:2", *["conjunctions:2,count=6,seed=1", "threshold:1of2,count=4"] * queries]
    update = draw(st.sampled_from([MAX_ENTROPY, DATA_STEP, *[PAPER] * queries]))
    alpha = 0.05 if update == PAPER else None
    algorithm = "pmw" if alpha else draw(st.sampled_from(["pmw", "mwem"]))
    if algorithm == "pmw" and queries:
        alpha = draw(st.sampled_from([0.02, 0.3]))
    learning = Learning(
        update=update, replays=draw(st.integers(0, 2)), last_replays=2, average=draw(yes_or_no), records=9
    )
    plan = multiplicative_plan(
        algorithm,
        select=select,
        relation=draw(relations),
        gaussian=draw(yes_or_no),
        size=SIZE,
        rounds=3,
        alpha=alpha,
        learning=learning,
    )
    made: Public = draw(publics_of(st.just(plan), st.sampled_from(texts)))
    return made


@dataclass(frozen=True)
class Row:
    """One algorithm, or several that are planned alike.

    Attributes
    ----------
    publics : strategy
        Generated runs.
    examples : int
        How many of them are tried, with two tables each.
    shown : callable
        Whether a run shows what it should: given the run, what was seen and the folder.
    small : mapping
        A small run for each algorithm.
    place : type and str
        The method of a curator that leaks are planted in.
    secret : callable
        Given a curator, what is SECRET for a table of ones and twos, and 0 for one of zeros, or the other way round.
    """

    publics: Strategy
    examples: int
    shown: Callable[[Public, Seen], bool]
    small: Mapping[str, Public]
    place: tuple[type, str]
    secret: Callable[[Any], int] = lambda curator: SECRET * int(curator._dataset._columns[0][0])


def programs(seen: Seen) -> int:
    return sum(text.startswith("program") for text in seen[0])


def fits_as_planned(public: Public, seen: Seen) -> bool:
    fitted = any(text.startswith("fit ") for text in seen[0])
    return "transcript.jsonl" in seen[1] and (fitted == (public.plan.fit is not None) or bool(public.cut))


def answered(public: Public, seen: Seen) -> bool:
    return programs(seen) >= ROUNDS and ("release.json" in seen[1] or public.cut is not None)


ROWS: dict[str, Row] = {
    "dualquery": Row(
        publics_of(dualquery_plans(drawing_plan, ["0.4", "7"]), output=OUTPUTS, behaviour=BEHAVIOURS),
        80,
        lambda public, seen: programs(seen) >= 3 or public.cut is not None,
        {"dualquery": Public(drawing_plan())},
        (Curator, "observe"),
        lambda curator: SECRET * int(curator._weights._counts[0] > 0),
    ),
    "fem": Row(
        publics_of(
            st.builds(fem_plan, st.just("fem"), relations, st.sampled_from(["0.3", "40"]), st.integers(0, 3)),
            st.sampled_from(FEM_TEXTS),
            behaviour=BEHAVIOURS,
        ),
        25,
        answered,
        {"fem": Public(fem_plan("fem"))},
        (FemCurator, "select"),
    ),
    "measured": Row(
        measured_publics(),
        40,
        fits_as_planned,
        {name: Public(measuring_plan(name)) for name in MEASURED},
        (MeasuringCurator, "measure"),
    ),
    RESIDUALS: Row(
        publics_of(
            st.builds(residual_plan, relations, st.integers(0, 3)), st.sampled_from(["marginals:2", "marginals:3"])
        ),
        15,
        lambda public, seen: public.cut is not None or any(text.startswith("fit") for text in seen[0]),
        {RESIDUALS: Public(residual_plan())},
        (MeasuringCurator, "measure"),
    ),
    "multiplicative weights": Row(
        multiplicative_publics(),
        25,
        lambda public, seen: "transcript.jsonl" in seen[1],
        {"mwem": Public(multiplicative_plan(size=SIZE))},
        (MultiplicativeCurator, "measure"),
        lambda curator: SECRET * int(curator._counts[0] > 0),
    ),
    "smalldb": Row(
        publics_of(st.builds(small_plan, relations, st.sampled_from([4, 16])), st.just(FEW_CLASSES)),
        10,
        lambda public, seen: {"transcript.jsonl", "plan.json"} <= set(seen[1]),
        {"smalldb": Public(small_plan(), text=FEW_CLASSES)},
        (NetCurator, "select_database"),
    ),
}
SMALL = {name: (row, public) for row in ROWS.values() for name, public in row.small.items()}
EACH = pytest.mark.parametrize("algorithm", SMALL)
TABLES: tuple[Rows, Rows] = [[0, 0, 0]] * SIZE, [[1, 2, 1]] * SIZE


def tables(rows: Strategy) -> st.SearchStrategy[Rows]:
    record = st.tuples(*(st.integers(0, int(size) - 1) for size in SCHEMA.sizes)).map(list)
    return rows.flatmap(lambda n: st.lists(record, min_size=n, max_size=n))


@pytest.mark.parametrize("name", ROWS)
def test_two_tables_cannot_be_told_apart_once_the_draws_are_given(name: str) -> None:
    """Replace-one: any two tables of the public size. Add-remove: any two tables of any sizes."""
    row = ROWS[name]

    @settings(max_examples=row.examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data(), row.publics)
    def cannot_be_told_apart(data: st.DataObject, public: Public) -> None:
        rows = st.just(SIZE) if public.plan.relation is REPLACE else st.integers(1, 12)
        one, two = public.run(data.draw(tables(rows))), public.run(data.draw(tables(rows)))
        assert one == two
        assert row.shown(public, one)

    cannot_be_told_apart()


@EACH
def test_the_watcher_does_see_a_difference_between_other_draws(algorithm: str) -> None:
    _, public = SMALL[algorithm]
    usual = public.run(TABLES[0])
    assert "release.json" in usual[1]
    for other in (Script((7, 1, 2)), Script(noise=(5, 2))):
        changed = replace(public, script=other).run(TABLES[0])
        drawn = {"noise": bool(MEASURES & {algorithm})}
        drawn["queries"] = algorithm not in {NOISE, COUNTS, RESIDUALS}
        differs = any(drawn[name] for name in drawn if getattr(other, name) != getattr(public.script, name))
        assert (usual[1]["transcript.jsonl"] != changed[1]["transcript.jsonl"]) is differs
        assert (usual != changed) is differs


MEASURES = {*MEASURED, "mwem", RESIDUALS}
LEAKS: list[Leak] = [leak_into_a_log, leak_into_a_warning, leak_into_a_print, leak_into_an_error, leak_into_the_journal]


@EACH
@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Leak, algorithm: str) -> None:
    """What a table says, in any of these places, is noticed."""
    row, public = SMALL[algorithm]
    assert public.run(TABLES[0]) == public.run(TABLES[1])
    place, name = row.place
    with mock.patch.object(place, name, leaking(getattr(place, name), leak, row.secret)):
        assert public.run(TABLES[0]) != public.run(TABLES[1])


def logged(usual: Callable[..., Any], *given: Any, **more: Any) -> Any:
    counts = usual(*given, **more)
    logging.getLogger("dpopt").debug("counts %s", counts)
    return counts


def noted(usual: Callable[..., Any], curator: MeasuringCurator, *given: Any) -> Any:
    value = usual(curator, *given)
    kept = sum(int(scores[0][0]) for scores in curator._scores._kept.values())
    curator._journal.append({"kind": "torn", "hint": kept})
    return value


def stopping(usual: Callable[..., Any], *given: Any, **more: Any) -> Any:
    scores = usual(*given, **more)
    if scores[0] > 30:
        raise PlanError("the records are still far from the answers")
    return scores


@pytest.mark.parametrize(
    ("place", "name", "leak"),
    [(measurement, "exact_counts", logged), (MeasuringCurator, "_candidate", noted), (CandidateScores, "of", stopping)],
)
def test_a_leak_of_what_a_curator_computes_is_seen(place: object, name: str, leak: Callable[..., Any]) -> None:
    """Counts in a log, scores in the journal, and scores that decide what happens next."""
    usual = getattr(place, name)
    with mock.patch.object(place, name, lambda *given, **more: leak(usual, *given, **more)):
        one, two = (SMALL[SELECTED][1].run(table) for table in TABLES)
    assert one != two


@pytest.mark.parametrize(
    ("algorithm", "kind", "decision"),
    [
        ("fem", QuerySelection, lambda selection, *given: 2 * int(selection._held[0])),
        ("fem", QuerySelection, lambda selection, *given: 2 * int(selection._held[-1])),
        *((name, ScriptedNoise, lambda noise, counts, scale: counts + (counts > SIZE - 1)) for name in MEASURED),
    ],
)
def test_a_decision_or_a_noisy_value_that_follows_the_table_is_seen(
    algorithm: str, kind: type, decision: Callable[..., Any]
) -> None:
    usual = Script.drawing

    @contextmanager
    def deciding(script: Script) -> Iterator[None]:
        with usual(script), mock.patch.object(kind, DRAWS.get(kind, "draw"), decision):
            yield

    with mock.patch.object(Script, "drawing", deciding):
        one, two = (SMALL[algorithm][1].run(table) for table in TABLES)
    assert one[1]["transcript.jsonl"] != two[1]["transcript.jsonl"]


DRAWS: dict[type, str] = {ScriptedNoise: "discrete_gaussian"}
LINES = ["True,x,3", "False,?,19", "True,z,0"], ["False,y,12", "False,y,12", "False,y,20"]


def written_tables(folder: Path, relation: NeighbouringRelation) -> Iterator[tuple[int, Path]]:
    """Write two tables in folders of their own; under add-remove with different numbers of records."""
    for number, lines in enumerate(LINES):
        more = ["True,x,1"] * 4 if number and relation is ADD_REMOVE else []
        (folder / str(number)).mkdir()
        table = folder / str(number) / "table.csv"
        table.write_text("\n".join(["a,b,c", *lines, *more, ""]), encoding="utf-8")
        yield number, table


ASKED: dict[str, dict[str, Any]] = {
    "dualquery": {"epsilon": 500.0, "rounds": 6, "draws": 4, "step": "0.3", "work": 5},
    "fem": {"epsilon": 500.0, "rounds": 5, "draws": 4, "work": 5},
    NOISE: {"epsilon": 5.0},
    PROJECTION: {"epsilon": 5.0, "records": 20, "measure": COUNTS},
    SELECTED: {"algorithm": PROJECTION, "epsilon": 5.0, "records": 20, "selections": 2},
    RESIDUALS: {"algorithm": PROJECTION, "epsilon": 5.0, "records": 20, "measure": RESIDUALS},
    AUTO: {"epsilon": 5.0},
}


@pytest.mark.parametrize("algorithm", ASKED)
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_finished_folder(
    relation: NeighbouringRelation, algorithm: str, tmp_path: Path
) -> None:
    """The whole path that a user takes, choice and planning included."""
    outcomes, solved = [], "work" in ASKED[algorithm]
    for _, table in written_tables(tmp_path, relation):
        watcher, out = Watcher(), table.parent / "release"
        with watching(watcher, solving=solved), Script().drawing(), watched(watcher.seen):
            release(
                table,
                SCHEMA,
                "marginals:2",
                out=out,
                delta=1e-6,
                neighbours=relation.value,
                n0=4 if relation is ADD_REMOVE else None,
                predict=False,
                progress=watcher,
                **{"algorithm": algorithm, **ASKED[algorithm]},
            )
        outcomes.append((watcher.seen, contents(out)))
    assert outcomes[0] == outcomes[1]
    # Where epsilon is small, so few records are not worth a measurement of how they lie within bins.
    assert (b'"numbers within bins, round 1"' in outcomes[0][1]["release.json"]) is solved
    assert not solved or any(text.startswith("program") for text in outcomes[0][0])


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_what_the_command_prints_does_not_tell_two_tables_apart(
    relation: NeighbouringRelation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`dpopt release` in two folders, with files of the same names; seconds aside, it prints the same."""
    from tests.cli.command_line import call

    options = ["--algorithm", "dualquery", "--epsilon", 500, "--delta", 1e-6, "--work", 5, "--no-predict"]
    options += ["--rounds", 6, "--draws", 4, "--step", 0.3, "--workload", "marginals:2"]
    options += ["--n0", 4] if relation is ADD_REMOVE else ["--neighbours", "replace"]
    outcomes = []
    for _, table in written_tables(tmp_path, relation):
        monkeypatch.chdir(table.parent)
        SCHEMA.write(table.parent / "schema.json")
        script = ScriptedSampler([[1, 4, 6, 6]] * 6)
        noise = ScriptedNoise([2, 0, 1])  # of numbers within bins
        with (
            mock.patch("dpopt.private.curators.dualquery_curator.ExactSampler", return_value=script),
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
        ):
            done = call("release", "table.csv", "--schema", "schema.json", "--out", "out", *options)
        assert done.exit_code == 0, done.output
        outcomes.append((SECONDS.sub("some seconds", done.output), contents(table.parent / "out")))
    assert outcomes[0] == outcomes[1]
    assert "NOT PRIVATE" in outcomes[0][0]


def test_a_run_with_scripted_draws_says_that_it_is_not_private(tmp_path: Path) -> None:
    plan = drawing_plan(rounds=2, draws=1)
    dataset = PrivateDataset.from_codes(SCHEMA, [np.array([0, 1, 0, 0, 1])] * 3)
    job = Job(plan, SCHEMA, parse_workload("marginals:2", SCHEMA), {"format": "csv", "rows": None}, {})
    made = run_release(dataset, job, tmp_path / "r", sources=Sources(sampler=ScriptedSampler([[0], [1]])))
    assert not made.ledger.is_private
    assert made.statement["privacy"]["private"] is False
    assert made.statement["privacy"]["epsilon"] is None


def test_the_workload_type_holds_no_records() -> None:
    """What travels to the solver's side is made of these; none has a field that could hold a table."""
    for kind in (Workload, MaxCsp, SolveLimits):
        assert not any("dataset" in name or "rows" in name for name in kind.__dataclass_fields__)
