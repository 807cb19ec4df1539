"""The records that a search starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.choices import choices_of
from dpopt.inference.records.laws import LEAST_PROBABILITY, draw_records
from dpopt.inference.records.legal_layout import CHARGE, gains_of_laws, lay_out_legal
from dpopt.inference.records.problem import FitProblem
from dpopt.inference.records.settings import FitSettings
from dpopt.public_random import PublicRandom

FIRST_DRAWS = 0  # numbers of public random streams
REPETITIONS = 2
WALKS = 3

STEPS = 200
"""Changes with which a drawn record may be walked to the rules, times the number of attributes."""


def start_records(
    problem: FitProblem,
    settings: FitSettings,
    start: NDArray[np.int32] | None,
    laws: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Return N legal records: those given, repeated or thinned out evenly, or independent draws made legal.

    Raises
    ------
    ProgramError
        A record that is given is not legal, none is given, or no legal record was found.
    """
    number, seed = settings.records, settings.seed << 32
    if start is None:
        drawn = draw_records(problem, laws, number, seed | FIRST_DRAWS)
        return made_legal(problem, drawn, laws, seed | WALKS) if problem.rules.number_of_rules else drawn
    if len(start) == 0:
        raise ProgramError("a fit was to start from no records at all; give some, or none to draw them")
    problem.require_legal(start)
    if len(start) == number:
        return start
    # Systematic: record i stands for the rows (i, i + 1] * number / r, in a public random order.
    order = np.argsort(PublicRandom(seed | REPETITIONS).words(len(start)), kind="stable")
    picked = order[(np.arange(number, dtype=np.int64) * len(start)) // number]
    return start[np.sort(picked)]


def made_legal(
    problem: FitProblem, records: NDArray[np.int32], laws: NDArray[np.float64], seed: int
) -> NDArray[np.int32]:
    """Return records that obey the rules: these, each changed in as few codes as a walk finds, likely codes first.

    A record whose walk ends nowhere is replaced by one of the others at random.

    Raises
    ------
    ProgramError
        No walk found a legal record.
    """
    from dpopt.inference.records.legal_sweep_kernels import make_legal

    result, legal = np.array(records, dtype=np.int32, order="C"), lay_out_legal(problem)
    legal.state.gain[:-1] = gains_of_laws(laws, LEAST_PROBABILITY)
    found = np.zeros(len(result), dtype=np.bool_)
    steps = STEPS * problem.sizes.size
    make_legal(
        choices_of(problem, laws), legal, result, steps, CHARGE, found, np.array([seed], dtype=np.uint64)
    )
    good = np.flatnonzero(found)
    if not good.size:
        raise ProgramError(
            "no record that obeys the rules was found; give legal records to start from, such as a solver's answer"
        )
    bad = np.flatnonzero(~found)
    copied = PublicRandom(seed + 1).below(np.full(bad.size, good.size, dtype=np.uint64))
    result[bad] = result[good[copied.astype(np.int64)]]
    problem.require_legal(result)
    return result
