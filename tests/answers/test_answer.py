"""Answers hold the table's figures as often as they say; with public noise, never by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.answers.answer import BY_ROWS, MEASURED, Row, answers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.intervals import deviations_of, of_count, of_quantile, of_ratio
from dpopt.answers.questions import parse_question
from dpopt.answers.regression import regress
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import residuals_of, subsets_of
from dpopt.schema.domains import Domains

ROWS, RUNS = 4_000, 300
DRAW = np.random.default_rng(11)
JOB = DRAW.integers(0, 3, ROWS)
AGE = np.clip((DRAW.normal(40 + 8 * JOB, 15, ROWS) // 10).astype(int), 0, 7)
ILL = np.where(DRAW.random(ROWS) < 0.1, 2, DRAW.random(ROWS) < 0.2 + 0.08 * AGE).astype(int)
CODES = np.stack([JOB, AGE, ILL], axis=1).astype(np.int32)
SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("job", dpopt.AttributeKind.CATEGORICAL, ("nurse", "cook", "clerk")),
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 90, 10))),
        dpopt.Attribute("ill", dpopt.AttributeKind.BOOLEAN, missing=""),
    )
)
FRAME = pd.DataFrame({"job": np.array(["nurse", "cook", "clerk"])[JOB], "age": 10.0 * AGE + 5, "ill": ILL})
SETS, _, _ = subsets_of(MarginalSet(Domains.of(SCHEMA, occurring=False), np.array([[0, 1, 2]], dtype=np.int32)))
EXACT = residuals_of(SETS, RecordAnswers(CODES).on(SETS, SCHEMA.sizes) * ROWS)
ROWS_OF_RELEASE = RowTables(RecordAnswers(CODES[::7]), SETS.domains, SCHEMA.sizes, ROWS)


def measured(seed: int, deviation: float = 12.0) -> MeasuredResiduals:
    noise = residuals_of(SETS, np.random.default_rng(seed).normal(0, deviation, SETS.number_of_cells))
    return MeasuredResiduals(SETS, EXACT + noise, np.full(len(SETS), deviation**2), float(ROWS))


def asked(text: str, found: MeasuredResiduals, **how: Any) -> list[Row]:
    population = how.pop("population", False)
    return answers_of(parse_question(text, SCHEMA), SCHEMA, found, ROWS_OF_RELEASE, population=population).answers(
        **how
    )


def truth(text: str) -> list[float]:
    """Return the figures of the table, by pandas."""
    known = FRAME[FRAME.ill < 2]
    of: dict[str, Callable[[], Any]] = {
        "count where job = cook and age >= 40": lambda: [((FRAME.job == "cook") & (FRAME.age >= 40)).sum()],
        "count by job where job in (nurse, cook)": lambda: [(JOB == 0).sum(), (JOB == 1).sum(), 0],
        "share of ill by job": lambda: [
            share for one in ("nurse", "cook", "clerk") for share in _shares(known[known.job == one].ill)
        ],
        "share of ill = true and age < 40": lambda: [((known.ill == 1) & (known.age < 40)).mean()],
        "share of ill is missing": lambda: [(ILL == 2).mean()],
        "mean(age) by job where ill = true": lambda: [
            FRAME[(FRAME.job == one) & (FRAME.ill == 1)].age.mean() for one in ("nurse", "cook", "clerk")
        ],
        "mean(age) of clerk - mean(age) of nurse": lambda: [
            FRAME[FRAME.job == "clerk"].age.mean() - FRAME[FRAME.job == "nurse"].age.mean()
        ],
        "count of clerk - count of nurse": lambda: [(JOB == 2).sum() - (JOB == 0).sum()],
    }
    return [float(one) for one in of[text]()]


def _shares(values: Any) -> list[float]:
    return [float((values == 0).mean()), float((values == 1).mean())]


@pytest.mark.parametrize(
    "text",
    [
        "count where job = cook and age >= 40", "count by job where job in (nurse, cook)", "share of ill by job",
        "share of ill = true and age < 40", "share of ill is missing", "mean(age) by job where ill = true",
        "mean(age) of clerk - mean(age) of nurse", "count of clerk - count of nurse",
    ],
)  # fmt: skip
def test_intervals_hold_the_figures_of_the_table(text: str) -> None:
    """300 fixed draws of the noise: 95 % are expected inside, 0.913 to 0.985 is four deviations of that."""
    true, inside, far = truth(text), [], []
    for seed in range(RUNS):
        found = asked(text, measured(seed))
        assert len(found) == len(true)
        assert {one["how"] for one in found} == {MEASURED}
        inside.append([one["low"] <= value <= one["high"] for one, value in zip(found, true, strict=True)])
        far.append([(one["estimate"] - value) for one, value in zip(found, true, strict=True)])
    exact = np.std(far, axis=0) == 0  # a count that no noise is in
    held = np.mean(inside, axis=0)
    assert (held[~exact] > 0.913).all()
    assert (held[~exact] < 0.985).all()
    assert held[exact].all()
    assert np.abs(np.mean(far, axis=0)[~exact] / np.std(far, axis=0)[~exact]).max() < 4 / np.sqrt(RUNS)


def test_intervals_of_quantiles_hold_them() -> None:
    """They are of whole bins: at least 95 % are expected."""
    held = 0
    for seed in range(RUNS):
        (one,) = asked("median(age) where job = cook", measured(seed))
        true = FRAME[FRAME.job == "cook"].age.median()
        held += one["low"] <= true <= one["high"]
    assert held / RUNS > 0.93


def test_all_intervals_hold_together_where_that_is_asked() -> None:
    true, held = truth("share of ill by job"), 0
    for seed in range(RUNS):
        found = asked("share of ill by job", measured(seed), together=len(true))
        held += all(one["low"] <= value <= one["high"] for one, value in zip(found, true, strict=True))
    assert held / RUNS > 0.92


def test_intervals_of_the_population_are_wider_by_the_error_of_sampling() -> None:
    """Of 4,000 records a share p has the variance p (1 - p) / 4,000 besides that of the noise."""
    found = measured(1)
    (own,), (all_,) = (asked("share of job = cook", found, population=one) for one in (False, True))
    share = own["estimate"]
    expected = np.sqrt(own["standard_error"] ** 2 + share * (1 - share) / ROWS)
    assert all_["standard_error"] == pytest.approx(expected, rel=1e-6)


def test_what_was_not_measured_is_answered_by_the_rows_and_says_so() -> None:
    without = MeasuredResiduals(SETS, EXACT, np.where(SETS.widths() > 1, np.inf, 1.0), float(ROWS))
    (known,), (rows,) = (asked(text, without) for text in ("count of cook", "count of cook where age >= 40"))
    assert known["how"] == MEASURED
    assert rows["how"] == f"{BY_ROWS} (job and age were not measured together)"
    assert rows["estimate"] == pytest.approx(ROWS * ((JOB == 1) & (AGE >= 4))[::7].mean())
    assert np.isnan(rows["low"])
    assert np.isnan(asked("mean(age) of cook - mean(age) of clerk", without)[0]["low"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean(job)", "the values of 'job' are not numbers"),
        ("median(ill)", "are not numbers"),
        ("count where age > 5", "is true of some values of the bin"),
        ("count where job = nurs", "did you mean 'nurse'?"),
        ("count where age = 7", "name edges of bins, or a whole bin as its label"),
        ("share of ill - share of job", "shares of the same values"),
    ],
)
def test_what_a_column_does_not_have_is_refused(text: str, said: str) -> None:
    with pytest.raises(QuestionError, match=r"^'") as refusal:
        asked(text, measured(1))
    assert said in str(refusal.value)
    assert "rule" not in str(refusal.value)
    assert "{" not in str(refusal.value)


def test_regressions_hold_the_coefficients_of_the_table() -> None:
    """By least squares on the table's rows; bins count as their representatives."""
    design = np.stack([np.ones(ROWS), JOB == 1, JOB == 2, ILL == 1, ILL == 2], axis=1).astype(float)
    true = np.linalg.lstsq(design, FRAME.age.to_numpy(), rcond=None)[0]
    inside = []
    for seed in range(RUNS // 3):
        found = regress("age ~ job + ill", SCHEMA, measured(seed), ROWS_OF_RELEASE).answers()
        assert [one["term"] for one in found] == [
            "constant", "job = cook", "job = clerk", "ill = true", "ill = missing",
        ]  # fmt: skip
        inside.append([one["low"] <= value <= one["high"] for one, value in zip(found, true, strict=True)])
    held = np.mean(inside, axis=0)
    assert (held > 0.87).all()


def test_columns_of_a_formula_may_stand_in_quotes() -> None:
    plain, quoted = (regress(text, SCHEMA, measured(1), ROWS_OF_RELEASE) for text in ("age ~ job", "'age' ~ `job`"))
    np.testing.assert_array_equal(plain.beta, quoted.beta)


def test_coefficients_that_noise_hides_are_not_identified() -> None:
    _, slope, *_ = regress("age ~ ill", SCHEMA, measured(1, 900.0), ROWS_OF_RELEASE).answers()
    assert not np.isfinite([slope["low"], slope["high"]]).all()
    assert slope["how"] == f"{MEASURED}; leave out ill, which noise hides beside the others"


def test_a_column_is_named_without_which_the_others_have_ends() -> None:
    """What is said of the shorter regression is what asking it gives."""
    found = regress("age ~ job + ill", SCHEMA, measured(1, 600.0), ROWS_OF_RELEASE).answers()
    assert np.isinf([one["low"] for one in found]).all()
    assert {one["how"] for one in found} == {f"{MEASURED}; leave out ill, which noise hides beside the others"}
    shorter = regress("age ~ job", SCHEMA, measured(1, 600.0), ROWS_OF_RELEASE).answers()
    assert np.isfinite([(one["low"], one["high"]) for one in shorter]).all()
    assert {one["how"] for one in shorter} == {MEASURED}


def test_a_factor_has_a_coefficient_for_each_value() -> None:
    grade = dpopt.Attribute("grade", dpopt.AttributeKind.CATEGORICAL, (1, 2, 3))
    schema = dpopt.Schema((grade, SCHEMA.attributes[1]))
    domains = Domains.of(schema, occurring=False)
    rows = RowTables(RecordAnswers(CODES[:, :2]), domains, schema.sizes, ROWS)
    for given, terms in (("grade", ["grade"]), ("factor(grade)", ["grade = 2", "grade = 3"])):
        found = regress(f"age ~ {given}", schema, MeasuredResiduals.nothing(domains, ROWS), rows)
        assert found.terms == ("constant", *terms)


def test_dates_have_shares_and_no_means() -> None:
    dates: dict[str, Any] = {"edges": ("2020-01-01", "2020-02-01", "2020-03-01"), "date_format": "%Y-%m-%d"}
    day = dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, **dates)
    schema = dpopt.Schema((day,))
    nothing = MeasuredResiduals.nothing(Domains.of(schema, occurring=False), 10.0)
    for text in ("mean(day)", "median(day)"):
        with pytest.raises(QuestionError, match=r"are dates, and have no .*'share of day < EDGE'"):
            answers_of(parse_question(text, schema), schema, nothing, None)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("age", "expected OUTCOME ~ COLUMN"),
        ("age ~ age", "names a column twice"),
        ("ill ~ age", "can be missing"),
        ("job ~ age", "has 3 values, not numbers"),
        ("age ~ jobb", "jobb"),
    ],
)
def test_what_is_no_regression_is_refused(formula: str, said: str) -> None:
    with pytest.raises(QuestionError) as refusal:
        regress(formula, SCHEMA, measured(1), ROWS_OF_RELEASE)
    assert said in str(refusal.value)


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("scale", [0.1, 0.3, 0.5, 1, 2, 5])
def test_intervals_of_counts_hold_by_the_exact_laws_of_few_terms(scale: float, *, gaussian: bool) -> None:
    """Sums of 1 to 10 discrete numbers, by convolution; ends that are not rounded outwards hold too rarely."""
    numbers = np.arange(-100, 101)
    law = np.exp(-(numbers**2) / (2 * scale**2) if gaussian else -np.abs(numbers) / scale)
    law, variance, total = law / law.sum(), scale**2 if gaussian else 0.5 / np.sinh(0.5 / scale) ** 2, np.ones(1)
    for terms in range(1, 11):
        total = np.convolve(total, law)
        for confidence in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
            z = deviations_of(confidence, gaussian=gaussian)
            found = of_count(0.0, terms * variance, z)
            inside = np.abs(np.arange(total.size) - total.size // 2) <= found.high
            assert total[inside].sum() >= confidence - 1e-9
            assert found.low == -found.high == -np.ceil(z * np.sqrt(terms * variance))


def test_without_noise_an_interval_is_the_count() -> None:
    found = of_count(7214 + 1e-9, 0.0, 1.96)
    assert (found.low, found.high) == (7214, 7214)


def test_a_difference_of_quantiles_has_no_standard_error() -> None:
    (one,) = asked("median(age) of cook - median(age) of nurse", measured(1))
    assert np.isnan(one["standard_error"])
    assert one["low"] <= one["estimate"] <= one["high"]


def test_a_ratio_is_in_its_interval_if_noise_explains_it() -> None:
    """Fieller: by the definition, on a grid."""
    sums, covariance = np.array([30.0, 50.0]), np.array([[9.0, 4.0], [4.0, 16.0]])
    found = of_ratio(sums, covariance, 1.96)
    for ratio in np.linspace(-1, 3, 4001):
        off = sums[0] - ratio * sums[1]
        deviation = np.sqrt(covariance[0, 0] - 2 * ratio * covariance[0, 1] + ratio**2 * covariance[1, 1])
        assert (abs(off) <= 1.96 * deviation) == (found.low <= ratio <= found.high)
    unbounded = of_ratio(np.array([3.0, 1.0]), np.eye(2), 1.96)
    assert (unbounded.estimate, unbounded.low, unbounded.high) == (3.0, -np.inf, np.inf)


def test_a_quantile_without_noise_is_in_its_bin() -> None:
    counts = np.array([10.0, 20.0, 5.0, 65.0])
    below = np.cumsum([0, *counts]) - 0.5 * counts.sum()
    found = of_quantile(below, np.zeros(5), np.arange(5.0), 1.96)
    assert (found.low, found.high) == (3.0, 4.0)
    assert found.low <= found.estimate <= found.high
    first = of_quantile(np.array([-60.0, 20.0, 40.0]), np.zeros(3), np.array([0.0, 50.0, 100.0]), 1.96)
    assert (first.low, first.high) == (0.0, 50.0)  # of 100 records 80 lie in the first bin: 60 of them at 37.5
    assert first.estimate == pytest.approx(37.5)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.88, 0.91, 0.95, 0.99, 0.999])
def test_intervals_of_laplace_noise_hold_by_its_exact_law(confidence: float) -> None:
    """Sums of 1 to 64 numbers, of equal scales and of others: P(|X| > z) by the characteristic function."""
    z, at = deviations_of(confidence, gaussian=False), (np.arange(200_000) + 0.5) / 500
    draw, weights = np.random.default_rng(2), [np.ones(many) for many in (2, 3, 4, 8, 64)]
    weights += [draw.random(many) ** 2 for many in (2, 2, 3, 3, 5, 9)]
    for one in weights:
        scales = one / np.sqrt(2 * (one**2).sum())
        characteristic = np.prod(1 / (1 + (scales[:, None] * at) ** 2), axis=0)
        held = 2 / np.pi * (np.sin(z * at) / at * characteristic).sum() / 500
        assert confidence - 1e-3 * (1 - confidence) <= held
    assert np.exp(-z * np.sqrt(2)) <= (1 - confidence) * (1 + 1e-9)  # one number alone
