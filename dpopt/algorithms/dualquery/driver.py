"""DualQuery: the driver, in the paper's order.

Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, Algorithm 1, with the sign that makes the game converge (the data
player maximizes sum_i q_i(x) over the drawn queries, a query's weight grows by exp(eta (q(D) - q(x)))).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.errors import TranscriptError
from dpopt.models.best_responses.best_response import best_response, read_record
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.programs.certificate import certify
from dpopt.programs.limits import SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult, Termination
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.releases.kept_records import codes_of, kept, record_from_json
from dpopt.releases.rounds import Round
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.transcript.journal import Entry, Journal
from dpopt.transcript.released import SampledQueries


@dataclass(slots=True, eq=False)
class PastRound:
    """One round as found on file.

    Attributes
    ----------
    charges : list of Charge
        The first one as planned; each further one repeats a torn draw and was paid by giving up the then last round.
    sampled : SampledQueries or None
        The draw that followed.
    record : Entry or None
        The record that followed.
    torn : bool
        Whether the draw was being written when the journal was torn: part of it may have been seen.
    """

    charges: list[Charge]
    sampled: SampledQueries | None = None
    record: Entry | None = None
    torn: bool = False


@dataclass(frozen=True, slots=True)
class BestResponder:
    """Answers drawn queries with a record, from public values only.

    Attributes
    ----------
    clauses : Clauses
        The workload's base queries over the coding of the records.
    sizes : (d,) int32 array
        Number of values of each attribute of that coding.
    solver : Solver
        Finds the record; its answer is re-evaluated exactly and replaced by a public rule if it is none.
    fallback : Solver
        Gives the record when `solver` fails.
    limits : SolveLimits
        Limits per round.
    free_attributes : FreeAttributeRule
        Fills what the drawn queries do not mention.
    rules : ThresholdCircuit
        Hard rules on records; every record obeys them.
    legal : (d,) int32 array or None
        A record that obeys the rules: the first round's hint, and the last resort. None, where there are no rules, stands for
        the first value of every attribute.
    """

    clauses: Clauses
    sizes: NDArray[np.int32]
    solver: Solver
    fallback: Solver
    limits: SolveLimits
    free_attributes: FreeAttributeRule
    rules: ThresholdCircuit = NO_RULES
    legal: NDArray[np.int32] | None = None

    def respond(self, sampled: SampledQueries, *, hint: NDArray[np.int32] | None) -> Round:
        """Return the round that answers the drawn queries: maximize sum_i q_i(x) over records x that obey the rules."""
        problem = best_response(self.clauses, self.sizes, sampled, self.rules)
        hint = self.legal if hint is None else hint
        limits = self.limits.with_seed((self.limits.seed + sampled.round) % 2**31)
        asked = time.perf_counter()
        result = self._ask(problem, limits, hint)
        solve_seconds = time.perf_counter() - asked  # by our own clock, not by the solver's word
        record, fallback = read_record(problem, result)
        if record is None:
            record = read_record(problem, self.fallback.solve(problem, SolveLimits(work=1), hint=hint))[0]
            if record is None:
                record = np.zeros(len(self.sizes), dtype=np.int32) if hint is None else hint
        record = self.free_attributes.fill(problem, record, sampled.round)
        answered = result if fallback is None else None
        return Round(
            sampled,
            kept(record, self.sizes),
            certify(problem, record, bound=None if answered is None else answered.bound),
            result.termination.value if result.limit is None else f"{result.limit.value} limit",
            None if fallback is None else _plain(fallback),
            _plain(f"{result.solver} {result.version}"),
            solve_seconds,
        )

    def _ask(self, problem: MaxCsp, limits: SolveLimits, hint: NDArray[np.int32] | None) -> SolveResult:
        """Return the solver's result; a solver that breaks the protocol has failed, and the run goes on."""
        try:
            result: object = self.solver.solve(problem, limits, hint=hint)
            if isinstance(result, SolveResult) and isinstance(result.termination, Termination):
                return replace(result)  # its fields are checked again: an outsider may have changed them
            native = f"gave a {type(result).__name__} in place of a result"
        except KeyboardInterrupt:
            raise
        # The draw is spent, so no error of a solver may end the run.
        except BaseException as error:  # noqa: BLE001
            native = f"raised {type(error).__name__}"
        return SolveResult(Termination.FAILED, None, None, None, None, _name_of(self.solver), "", native, 0.0)


def _name_of(solver: Solver) -> str:
    """Return a solver's name, whatever its code does."""
    try:
        return str.__str__(solver.name)
    except Exception:  # noqa: BLE001
        return "a solver without a name"


def _plain(text: str) -> str:
    """Return what can be written of a solver's own words."""
    return text.encode("ascii", "replace").decode()[:200].strip()


def _whole(value: object) -> int:
    """Return a whole number of a transcript; true and 1.5 are none."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def recertify(
    clauses: Clauses,
    sizes: NDArray[np.int32],
    sampled: SampledQueries,
    entry: Entry,
    rules: ThresholdCircuit = NO_RULES,
) -> Round:
    """Read a recorded round back and recompute its certificate from draw and record alone.

    Raises
    ------
    TranscriptError
        If the record does not fit the schema, breaks a rule, or its recorded objective is not its exact one.
    """
    try:
        found = record_from_json(entry["record"], sizes)
        objective = _whole(entry["objective"])
        bound = None if entry["bound"] is None else _whole(entry["bound"])
        stopped, solver = _text(entry["stopped"]), _text(entry["solver"])
        fallback = None if entry["fallback"] is None else _text(entry["fallback"])
    except TranscriptError as error:
        raise TranscriptError(f"round {sampled.round}: {error}") from error
    except (KeyError, TypeError) as error:
        raise TranscriptError(f"round {sampled.round}: the record on file is damaged: {error!r}") from error
    problem = best_response(clauses, sizes, sampled, rules)
    certificate = certify(problem, codes_of(found))
    if certificate.broken_rules:
        raise TranscriptError(
            f"round {sampled.round}: the record on file breaks the rule {certificate.broken_rules[0]!r}; the transcript "
            "is damaged or belongs to another schema"
        )
    if certificate.objective != objective:
        raise TranscriptError(
            f"round {sampled.round}: the record on file has objective {certificate.objective}, "
            f"not {objective} as recorded; the transcript is damaged or belongs to another plan"
        )
    if bound is not None:
        if bound < objective:
            raise TranscriptError(
                f"round {sampled.round}: the bound on file, {bound!r}, does not fit objective {objective}"
            )
        # The bound was made whole when it was recorded; read again as a float it could be rounded once more.
        certificate = replace(certificate, bound=bound, gap=bound - objective)
    return Round(sampled, found, certificate, stopped, fallback, solver)


def run(
    plan: DualQueryPlan,
    curator: Curator,
    responder: BestResponder,
    journal: Journal,
    *,
    past: Sequence[PastRound] = (),
    on_round: Callable[[int, int, Round], None] = lambda number, rounds, done: None,
) -> list[Round]:
    """Play the rounds of a plan, continuing after those on file.

    Parameters
    ----------
    plan : DualQueryPlan
        Rounds T and draws s; the charges are reserved in the curator's ledger.
    curator : Curator
        The private side. It is told each record and gives released values only.
    responder : BestResponder
        The public side.
    journal : Journal
        Gets each record; the curator writes charges and draws.
    past : sequence of PastRound
        Rounds on file, when a run is resumed.
    on_round : callable
        Called as ``on_round(number, rounds, done)`` after each round.

    Returns
    -------
    list of Round
        One synthetic record per round. There is one less than planned for each torn draw on file: a part of it may have been
        seen, so its round was charged again and the last round given up to pay for it.
    """
    rounds: list[Round] = []
    charges = list(plan.charges()[-plan.rounds :])
    for sampled, entry in _recalled(plan, curator, past, charges):
        if entry is None:
            done = responder.respond(sampled, hint=rounds[-1].record if rounds else None)
            journal.append(done.to_json(), wait=False)
        else:
            done = recertify(responder.clauses, responder.sizes, sampled, entry, responder.rules)
        curator.observe(done.record)
        rounds.append(done)
        on_round(len(rounds), len(charges), done)
    while len(rounds) < len(charges):
        sampled = curator.draw_queries(plan.draws)  # charged, then drawn, then on file
        done = responder.respond(sampled, hint=rounds[-1].record if rounds else None)  # public from here on
        journal.append(done.to_json(), wait=False)  # the next charge's write makes it safe
        curator.observe(done.record)  # nothing comes back
        rounds.append(done)
        on_round(len(rounds), len(charges), done)
    return rounds


def _recalled(
    plan: DualQueryPlan, curator: Curator, past: Sequence[PastRound], charges: list[Charge]
) -> Iterator[tuple[SampledQueries, Entry | None]]:
    """Yield the rounds on file, with the last one's draw completed where it is missing.

    `charges` holds the rounds still to be played; rounds given up are taken off its end.
    """
    for number, known in enumerate(past, start=1):
        for repeat, charge in enumerate(known.charges):
            last = repeat == len(known.charges) - 1
            drawn = not last or known.sampled is not None or known.torn
            curator.recall(charge, given_up=charges.pop() if repeat else None, drawn=drawn)
        if known.sampled is not None:
            yield known.sampled, known.record
        elif not known.torn:
            yield curator.complete_draw(), None
        elif number < len(charges):
            yield curator.repeat_draw(plan.draws, given_up_round=len(charges), given_up=charges.pop()), None
        else:
            charges.pop()  # the last round's draw is lost, and no later round is left to pay for another
