"""Draws that are no noise come from the system's generator, and from nowhere else unless the ledger says so."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.algorithms.public_release import public_sources
from dpopt.algorithms.run_release import run_release
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords
from dpopt.private.selections.query_weights import CommonSampler, ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from tests.algorithms.small_runs import SCHEMA, dataset, workload
from tests.private.test_dataset import ClaimingNoise, ClaimingSampler, ClaimingSystemWords, ClaimingWords
from tests.scripted import ScriptedNoise, ScriptedWords
from tests.tiny_jobs import plan_of
from tests.tiny_runs import bits_schema, dataset_of

ALGORITHMS = ("dualquery", "fem", "smalldb")
ROUNDS, EACH, RECORDS = 6, 5, 7
BITS = bits_schema(3)


def job(algorithm: str) -> Job:
    """Return the public inputs of a small run."""
    if algorithm == "smalldb":
        budget = Budget(1.0, 0.0, None, Accountant.PURE)
        small = plan_of("smalldb", selection_range=Decimal("0.9"), size=RECORDS, budget=budget)
        return Job(small, BITS, parse_workload("marginals:2", BITS), {}, {})
    if algorithm == "dualquery":
        drawn = plan_of(algorithm, rounds=ROUNDS, size=RECORDS, draws=EACH, step=Decimal(3), attributes=len(SCHEMA))
        return Job(drawn, SCHEMA, workload(), {}, {})
    fem = plan_of(algorithm, rounds=ROUNDS, size=RECORDS, records=EACH, selection_range=Decimal("1.5"))
    return Job(fem, SCHEMA, workload(), {}, {})


def table(algorithm: str) -> PrivateDataset:
    """Return the records of a small run."""
    if algorithm == "smalldb":
        return dataset_of(BITS, ((1, 1, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1), (0, 1, 1)))
    return dataset(RECORDS)


class Generator:
    """Stands for the operating system's generator: bytes that follow from a name, none of them given out twice."""

    def __init__(self, name: str) -> None:
        self.name, self.given = name, 0

    def urandom(self, count: int) -> bytes:
        start, self.given = self.given, self.given + count
        return hashlib.shake_256(self.name.encode()).digest(self.given)[start:]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_is_a_function_of_the_bytes_of_the_operating_system(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same bytes it repeats, so nothing else is random; with others it does not, so they are what is drawn with."""
    run_release(table(algorithm), job(algorithm), None)  # kernels are compiled: numba names files by random bytes, too
    folders, given = [], []
    for number, name in enumerate(["one", "one", "another"]):
        generator = Generator(name)
        with monkeypatch.context() as patch:
            patch.setattr("os.urandom", generator.urandom)
            made = run_release(table(algorithm), job(algorithm), tmp_path / str(number))
        assert made.ledger.is_private
        assert made.statement["privacy"]["private"] is True
        folders.append({path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()})
        given.append(generator.given)
    one, same, other = folders
    assert one == same
    assert one["transcript.jsonl"] != other["transcript.jsonl"]
    # A selection and a fresh draw take two words, more where points are rejected.
    draws = {"dualquery": ROUNDS * EACH, "smalldb": 0}.get(algorithm, ROUNDS)
    assert given[0] == given[1] >= max(1, 16 * draws)


UNTRUSTED: dict[str, Sources] = {
    "seeded words": Sources(words=SeededWords(1)),
    "scripted words": Sources(words=ScriptedWords([0] * 10_000)),
    "seeded words that call themselves private": Sources(words=ClaimingWords(1)),
    "words of another kind": Sources(words=ClaimingSystemWords()),
}
UNTRUSTED_OF_DUALQUERY: dict[str, Sources] = {
    "seeded sampler": Sources(sampler=ExactSampler(SeededWords(1))),
    "seeded sampler beside the system's words": Sources(sampler=ExactSampler(SeededWords(1)), words=SystemWords()),
    "common random numbers": public_sources(1),
    "common random numbers from the system's words": Sources(sampler=CommonSampler(lambda _: SystemWords())),
    "sampler that calls itself private": Sources(
        sampler=ClaimingSampler([[0] * EACH] * ROUNDS), words=ScriptedWords([0] * 1_000)
    ),
    "scripted noise": Sources(noise=ScriptedNoise([0])),
    "noise that calls itself private": Sources(noise=ClaimingNoise([0])),
}


@pytest.mark.parametrize(
    ("algorithm", "source"),
    [(algorithm, source) for algorithm in ALGORITHMS for source in UNTRUSTED]
    + [("dualquery", source) for source in UNTRUSTED_OF_DUALQUERY],
)
def test_draws_from_anywhere_else_mark_ledger_and_statement(algorithm: str, source: str) -> None:
    sources = (UNTRUSTED | UNTRUSTED_OF_DUALQUERY)[source]
    made = run_release(table(algorithm), job(algorithm), None, sources=sources)
    assert not made.ledger.is_private
    assert made.statement["privacy"]["private"] is False
    assert made.statement["privacy"]["epsilon"] is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_systems_own_words_are_trusted_where_they_are_given(algorithm: str) -> None:
    made = run_release(table(algorithm), job(algorithm), None, sources=Sources(words=SystemWords()))
    assert made.ledger.is_private
    assert np.isfinite(made.statement["privacy"]["epsilon"])


def test_a_script_that_ends_is_no_silent_draw() -> None:
    with pytest.raises(IndexError):
        run_release(table("smalldb"), job("smalldb"), None, sources=Sources(words=ScriptedWords([])))
