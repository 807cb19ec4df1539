"""Reports: every section, what is escaped, what is refused, and what the page asks of a browser."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.budget import power_of_tests
from dpopt.errors import PlanError, ReleaseFolderError, SchemaError
from dpopt.releases.descriptions.verdict import verdict_of
from dpopt.reports.charts import LETTER, MISSING, WIDTH, column_chart, short
from dpopt.reports.report import report
from dpopt.reports.words import grouped_charges, meaning_of
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import small_release, write_table
from tests.cli.command_line import refuse, succeed

PUBLIC = ("glance", "spent", "accuracy", "figures", "mechanisms", "columns", "associations", "made", "cite")
OWNERS = ("errors", "unseen", "numbers", "models", "apart", "target")
TURNED = chr(0x202E)
HOSTILE = TURNED + '<img src=x onerror="alert(1)">\'"&\n</svg></style><script>alert(2)</script>' + "long " * 40
SCHEMA = Schema(
    (
        Attribute(HOSTILE, AttributeKind.CATEGORICAL, (HOSTILE + "1", HOSTILE + "2", "{{ 7 * 7 }}")),
        Attribute("age", AttributeKind.NUMERIC, edges=tuple(range(101)), integer=True, missing="?"),
        Attribute("hours", AttributeKind.NUMERIC, edges=(0, 20, 40, 60)),
        Attribute("town", AttributeKind.CATEGORICAL, tuple(f"t{number}" for number in range(40))),
        Attribute("ill", AttributeKind.BOOLEAN),
    )
)


def table(rows: int = 400) -> pd.DataFrame:
    """Return a table with names that mean something to HTML, to templates, or to nobody."""
    generator = np.random.default_rng(3)
    age = generator.integers(0, 100, rows)
    return pd.DataFrame(
        {
            HOSTILE: np.array(SCHEMA.attributes[0].values, dtype=object)[generator.integers(0, 3, rows)],
            "age": np.where(generator.random(rows) < 0.1, "?", age.astype(str)),
            "hours": np.minimum(59.5, age * 0.6),
            "town": np.array([f"t{number}" for number in generator.integers(0, 40, rows)]),
            "ill": age > 50,
        }
    )


def released(folder: Path | None = None, **how: Any) -> dpopt.SyntheticRelease:
    given: dict[str, Any] = {"epsilon": 8, "delta": 1e-6, "n0": 400, "out": folder, **how}
    return dpopt.release(table(), SCHEMA, given.pop("workload", "marginals:2"), **given)


@pytest.fixture(scope="module")
def finished() -> dpopt.SyntheticRelease:
    return released()


@pytest.fixture(scope="module")
def pages(finished: dpopt.SyntheticRelease) -> tuple[str, str]:
    """Return the page that may be published, and the owner's."""
    return report(finished), report(finished, table())


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="(\w+)">', page)


def test_every_section_is_there_and_the_owner_has_more(pages: tuple[str, str]) -> None:
    pytest.importorskip("sklearn")
    assert sections(pages[0]) == list(PUBLIC)
    assert sections(pages[1]) == [*PUBLIC[:2], "publish", *PUBLIC[2:-2], *OWNERS, *PUBLIC[-2:]]
    assert re.findall('href="#([a-z]+)"', pages[1]) == sections(pages[1])[1:]
    assert pages[0].count('<div class="column">') == len(SCHEMA)


def test_the_owners_page_says_so_on_screen_and_on_every_sheet(pages: tuple[str, str]) -> None:
    marks = ("Not private: for the owner of the table only.", "NOT PRIVATE: for the owner of the table only")
    assert [mark in pages[1] for mark in marks] == [True, True]
    assert [mark in pages[0] for mark in marks] == [False, False]
    assert "may be published with the release" in pages[0]


def test_the_ten_points_before_publishing_have_the_facts_of_the_release(pages: tuple[str, str]) -> None:
    points = re.findall(r"<span>(\d+)\. <strong>.+?</strong>:? (.+?)</span>", pages[1])
    assert [int(number) for number, _ in points] == list(range(1, 11))
    assert points[5][1].startswith("epsilon = ")
    assert "public figure" in points[6][1] or "measured" in points[6][1]
    assert "<input" not in pages[0]


def test_the_owners_page_begins_with_the_weakest_figures(pages: tuple[str, str]) -> None:
    begin = pages[1].index('<section id="glance">')
    assert begin < pages[1].index("weakest dependence (0: none, 1:") < pages[1].index('<section id="spent">')
    assert "weakest" not in pages[0]


def test_the_release_says_from_which_group_size_on_percentages_can_be_read(
    finished: dpopt.SyntheticRelease, pages: tuple[str, str]
) -> None:
    """50 times the mean absolute error of a cell: of its known noise, or of the rows if that is larger."""
    measured = finished.measured()
    assert measured is not None
    noise = measured.deviations(measured.known(2))
    error = (2 / np.pi) ** 0.5 * float(np.median(noise))
    two_way = finished.statement["accuracy"]["two_way"]
    assert (two_way["count_error"], two_way["pairs"]) == (
        pytest.approx(error, rel=1e-5),
        len(noise),
    )  # six digits are on file
    said = finished.verdict
    least = 50 * max(two_way["count_error"], (2 / np.pi) ** 0.5 * two_way["release"])
    kept = {**two_way, "unrelated": 10 * two_way["release"], "better": True, "dependence": True}
    stated = {**finished.statement, "accuracy": {**finished.statement["accuracy"], "two_way": kept}}
    assert f"figures for groups below {float(f'{least:.2g}'):,.9g} rows" in verdict_of(stated).text
    assert all(said in page for page in pages)
    alone = released(workload="marginals:1")
    assert alone.statement["accuracy"]["two_way"] == {"pairs": 0, "all_pairs": 10}
    assert "relationships between columns, because none were measured" in repr(alone)


def test_the_page_without_the_table_is_a_function_of_the_release_alone(tmp_path: Path) -> None:
    """The folder, read again, gives the same page: whatever is in it was released."""
    made = released(tmp_path / "release")
    assert report(tmp_path / "release") == made.report(title="Report on a release of synthetic records")


def test_names_and_values_are_shown_and_never_obeyed(pages: tuple[str, str]) -> None:
    for page in pages:
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;img src=x onerror=&#34;alert(1)&#34;&gt;" in page
        assert "{{ 7 * 7 }}" in page
        assert TURNED not in page
        assert r"\u202e&lt;img" in page
        assert not re.search(r'(?:src|href)="(?!#)|url\(|@import', page)
        assert page.count("</style>") == 1


def test_long_names_lose_their_middle() -> None:
    assert [short(name, 12) for name in ("Married-civ-spouse", "decile_score", "a\nb")] == [
        "Marrie…pouse",
        "decile_score",
        "a b",
    ]


def test_bars_of_ordered_values_stand_in_order_and_others_by_size() -> None:
    shares = np.array([0.1, 0.2, 0.7])
    for values, order in (((1, 2, 3), ["1", "2", "3"]), (("a", "b", "c"), ["c", "b", "a"])):
        chart = column_chart(Attribute("x", AttributeKind.CATEGORICAL, values), shares, None, shares - 0.02, shares)
        assert [row["label"] for row in chart["rows"]] == order
    many = Attribute("x", AttributeKind.CATEGORICAL, tuple(range(40)))
    chart = column_chart(many, np.arange(40) / 780, None, None, None)
    assert [row["label"] for row in chart["rows"]] == [str(value) for value in range(30, 40)]  # the largest, in order
    assert chart["others"]["values"] == 30
    scale = Attribute("x", AttributeKind.CATEGORICAL, ("never", "often", "always"), missing="", ordered=True)
    chart = column_chart(scale, np.array([0.1, 0.3, 0.2, 0.4]), None, None, None)
    assert [row["label"] for row in chart["rows"]] == ["never", "often", "always", "missing"]
    codes = Attribute("x", AttributeKind.CATEGORICAL, (1, 2, 3), ordered=False)
    assert [row["label"] for row in column_chart(codes, shares, *[None] * 3)["rows"]] == ["3", "2", "1"]


@pytest.mark.parametrize("last", [5000.1, 1e15])
def test_ticks_leave_room_for_missing_values(last: float) -> None:
    edges = (0.0, last / 3, last / 2, last)
    chart = column_chart(Attribute("x", AttributeKind.NUMERIC, edges=edges, missing=""), np.ones(4) / 4, *[None] * 3)
    assert chart["end"] + MISSING == WIDTH
    assert chart["marks"][-1]["x"] >= chart["end"]
    assert LETTER * sum(len(tick) for tick in chart["ticks"]) < chart["end"]


def test_the_head_says_who_is_protected_and_what_was_left_out() -> None:
    names = pd.DataFrame({"name": [f"n{row // 2}" for row in range(400)]})
    made = dpopt.release(
        pd.concat([table(), names], axis=1), SCHEMA, "marginals:1", epsilon=8, delta=1e-6, predict=False,
        person="name", rows_per_person=2, on_invalid="drop",
    )  # fmt: skip
    head = report(made).partition('<section id="spent">')[0]
    assert "1 person" in head
    assert "with at most 2 rows" in head
    assert "Rows with values that do not fit schema.json were not counted" in head


def test_pages_are_small(pages: tuple[str, str]) -> None:
    assert len(pages[0]) < 200_000
    assert len(pages[1]) < 500_000


def test_intervals_hold_the_true_shares_as_often_as_they_say(finished: dpopt.SyntheticRelease) -> None:
    """Each of the 3 + 40 + 2 true shares lies within its interval with 95 %; more than 12 of 45 outside: 1 in 10^6 runs."""
    measured, truth = finished.measured(), table()
    assert measured is not None
    codes = {
        0: pd.Categorical(truth[HOSTILE], SCHEMA.attributes[0].values).codes,
        3: pd.Categorical(truth["town"], SCHEMA.attributes[3].values).codes,
        4: truth["ill"].to_numpy().astype(int),
    }
    outside = 0
    for place, column in codes.items():
        real = np.bincount(column, minlength=SCHEMA.attributes[place].size) / 400
        reach = 1.96 * measured.deviation((place,)) / 400
        outside += int((np.abs(measured.shares(place, real.size) - real) > reach).sum())
        assert reach < 0.2
    assert outside <= 12


@pytest.mark.parametrize("algorithm", ["dualquery", "noise", "mwem"])
def test_releases_of_every_kind_are_reported(algorithm: str) -> None:
    small = Schema((SCHEMA.attributes[2], SCHEMA.attributes[4]))
    own = table()[list(small.names)]
    made = dpopt.release(own, small, "marginals:2", epsilon=2, delta=1e-6, n0=400, algorithm=algorithm)
    for page in (report(made), report(made, own)):
        assert {"spent", "mechanisms", "made"} <= set(sections(page))
    if algorithm == "noise":
        assert "noisy answers" in page
        assert "the release holds no records" in page
    if algorithm == "dualquery":
        assert "no intervals" in page


def test_counts_of_larger_marginals_are_added_up(finished: dpopt.SyntheticRelease) -> None:
    made = released(algorithm="projection", measure="counts")
    measured = made.measured()
    assert measured is not None
    assert len(measured.known(1)) == 5
    assert measured.shares(4, 2).sum() == pytest.approx(1, abs=0.3)
    assert measured.deviation((4,)) < measured.deviation((0, 4)) * 10


def test_a_release_with_seeded_draws_protects_nobody_and_says_so() -> None:
    page = report(small_release())
    assert "This release is not private" in page
    assert "may be published" not in page


def test_a_file_that_answers_queries_has_a_short_report(tmp_path: Path) -> None:
    ages = Schema((Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40)),))
    made = dpopt.histogram(pd.DataFrame({"age": [1, 30]}), ages, "age", epsilon=1)
    made.write(tmp_path / "ages.npz")
    page = report(tmp_path / "ages.npz")
    assert sections(page) == ["glance", "spent", "mechanisms"]
    with pytest.raises(PlanError, match="without its table"):
        report(made, pd.DataFrame({"age": [1]}))


def test_a_wide_table_is_reported_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 20 columns compared in place of 128, 190 pairs in place of 8,128."""
    monkeypatch.setattr("dpopt.algorithms.evaluate.MOST_COLUMNS", 20)
    wide = Schema.binary(300)
    ones = (np.random.default_rng(1).random((200, 300)) < 0.1).astype(np.uint8)
    from scipy.sparse import csr_array

    matrix = csr_array(ones)
    made = dpopt.release(
        matrix,
        wide,
        "conjunctions:2,count=200,seed=1",
        density=0.1,
        epsilon=2,
        delta=1e-6,
        n0=200,
        algorithm="dualquery",
    )
    page = report(made, matrix)
    assert "The first 60 of 300 columns are shown" in page
    assert "the first 20 of 300 columns are compared" in page
    assert "too wide for models" in page


def test_a_file_is_for_the_owner_and_replaces_pages_only(finished: dpopt.SyntheticRelease, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    report(finished, table(), out=out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    report(finished, out=out)
    assert "NOT PRIVATE" not in out.read_text(encoding="utf-8")
    other = tmp_path / "table.csv"
    other.write_text("a,b\n")
    with pytest.raises(ReleaseFolderError, match="is not a page of HTML"):
        report(finished, out=other)
    with pytest.raises(ReleaseFolderError, match="no folder"):
        report(finished, out=tmp_path / "none" / "report.html")


def test_a_target_is_a_column_and_needs_the_table(finished: dpopt.SyntheticRelease) -> None:
    with pytest.raises(PlanError, match="table"):
        report(finished, target="ill")
    with pytest.raises(SchemaError, match="no attribute"):
        report(finished, table(), target="nothing")


def test_the_command_writes_both_pages(tmp_path: Path) -> None:
    path, folder = write_table(tmp_path), tmp_path / "release"
    small_release(folder)
    assert "may be published" in succeed("report", folder, "-o", tmp_path / "public.html")
    said = succeed("report", folder, path, "-o", tmp_path / "own.html", "--target", "smoker", "--title", "A & B")
    assert "NOT private" in said
    assert "<h1>A &amp; B</h1>" in (tmp_path / "own.html").read_text(encoding="utf-8")
    assert "is not a page of HTML" in refuse("report", folder, "-o", path)


def test_the_power_of_tests_is_that_of_randomized_response() -> None:
    """Two answers with odds e^epsilon attain the bound: a test that accuses on one of them, at its own rate of alarms."""
    odds = np.exp(1.5)
    truthful = odds / (1 + odds)
    assert power_of_tests(1.5, 0.0, alarms=1 - truthful) == pytest.approx(truthful)
    assert power_of_tests(1e6, 0.0) == pytest.approx(1.0)
    assert power_of_tests(0.0, 0.25) == pytest.approx(0.3)


def test_charges_of_equal_mechanisms_stand_together_and_none_is_lost() -> None:
    charges = small_release().statement["privacy"]["charges"]
    groups = grouped_charges(charges)
    assert sum(group["charges"] for group in groups) == len(charges)
    assert len(groups) < len(charges)
    private = released().statement["privacy"]
    assert sum(group["share"] for group in grouped_charges(private["charges"])) == pytest.approx(1)
    factor = f"= {np.exp(private['epsilon']):.3g}"
    assert any(factor in sentence for sentence in meaning_of(private))
