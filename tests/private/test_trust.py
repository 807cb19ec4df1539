from __future__ import annotations

import pytest

from dpopt.private.curators.door import is_trusted
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords
from dpopt.private.selections.query_weights import ExactSampler
from tests.scripted import ScriptedNoise, ScriptedSampler


class ClaimingWords(SeededWords):
    """A seeded source that says of itself that it is private."""

    is_private = True


class ClaimingSampler(ScriptedSampler):
    """A scripted sampler that says the same."""

    is_private = True
    reads_the_system = True


class ClaimingNoise(ScriptedNoise):
    """Scripted noise that says the same."""

    is_private = True


def test_the_defaults_and_the_systems_generator_are_trusted() -> None:
    assert is_trusted(None, None)
    assert is_trusted(ExactSampler(SystemWords()), OpendpNoise())


@pytest.mark.parametrize(
    "sampler", [ExactSampler(SeededWords(1)), ExactSampler(ClaimingWords(1)), ScriptedSampler([]), ClaimingSampler([])]
)
def test_a_sampler_is_not_believed(sampler: ExactSampler | ScriptedSampler) -> None:
    assert not is_trusted(sampler, None)


def test_noise_is_not_believed() -> None:
    assert not is_trusted(None, ScriptedNoise([]))
    assert not is_trusted(None, ClaimingNoise([]))


class ClaimingSystemWords(SystemWords):
    """A kind of the system's words, and so perhaps of other words."""


def test_words_are_not_believed() -> None:
    assert is_trusted(None, None, SystemWords())
    for words in (SeededWords(1), ClaimingWords(1), ClaimingSystemWords()):
        assert not is_trusted(None, None, words)
