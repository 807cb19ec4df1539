"""Every engine gives for every feature and algorithm the release of the table in memory, or refuses before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpopt
from dpopt.algorithms.options import Options
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords
from dpopt.schema.rules.builders import implies, literal

ROWS = 1_200
ZONED = "timestamp[us, tz=Europe/Berlin]"
NUMERIC, CATEGORICAL = dpopt.AttributeKind.NUMERIC, dpopt.AttributeKind.CATEGORICAL
SPREAD = ("stream", "dask:1")
NUMBERS = dpopt.Attribute("x", NUMERIC, edges=(0, 50, 100), integer=True, other=7)
LETTERS = dpopt.Attribute("k", CATEGORICAL, ("a", "b", "c"), other="c")
DAYS = dpopt.Attribute(
    "came",
    NUMERIC,
    edges=("2023-01-01", "2023-07-01", "2024-01-01"),  # type: ignore[arg-type]
    date_format="%Y-%m-%d",
)


def usual_rows() -> pd.DataFrame:
    rows = np.arange(ROWS)
    came = pd.Timestamp("2023-01-01") + pd.to_timedelta(rows % 365, unit="D")
    return pd.DataFrame(
        {
            "x": rows * 7 % 100,
            "k": np.array(["a", "b", "c"])[rows % 3],
            "who": rows // 3,
            "came": came.strftime("%Y-%m-%d"),
            "left": (came + pd.to_timedelta(rows % 19, unit="D")).strftime("%Y-%m-%d"),
            "took": rows * 5 % 48,
        }
    )


def beyond(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with numbers outside the range, one of them in the last part alone."""
    frame.loc[::10, "x"] = 120
    frame.loc[ROWS - 1, "x"] = -5
    return frame


def unknown(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[::9, "k"] = "z"
    return beyond(frame)


def padded(frame: pd.DataFrame) -> pd.DataFrame:
    frame["k"] = " " + frame["k"] + np.array(["", "  "])[np.arange(ROWS) % 2]
    return frame


def of_forms(frame: pd.DataFrame) -> pd.DataFrame:
    frame["came"] = frame["came"].where(np.arange(ROWS) % 3 > 0, frame["came"].str[:4])
    return frame


def timed(frame: pd.DataFrame) -> pd.DataFrame:
    frame["took"] = pd.to_timedelta(frame["took"], unit="h")
    return frame


def coded(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(place=np.array([1067, 10115, 4109, 80331])[np.arange(ROWS) % 4])


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    zoned = pd.to_datetime(frame["came"]).dt.tz_localize("Europe/Berlin")
    return frame.assign(came=zoned, x=frame["x"].astype("int8"), k=frame["k"].astype("category"))


@dataclass(frozen=True)
class Feature:
    """A schema, what it is about in the rows, and how they are read; the form of the files alternates from one to the next."""

    schema: dpopt.Schema
    form: str
    rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    terms: dict[str, Any] = field(default_factory=dict)


BOTH = dpopt.Schema((NUMBERS, LETTERS))
STAYS = dpopt.Schema(
    (DAYS, dpopt.Attribute("left", NUMERIC, edges=(0, 5, 20), after="came", unit="days", integer=True))
)
TOOK = dpopt.Schema((dpopt.Attribute("took", NUMERIC, edges=(0, 12, 48), unit="hours", integer=True), LETTERS))
RULE = dpopt.Rule(implies(literal("k", "=", "a"), literal("x", ">=", 50)), "high")
FORMS = dpopt.Schema(
    (
        dpopt.Attribute(
            "came",
            NUMERIC,
            edges=("2023-01-01", "2023-07-01", "2024-01-01"),  # type: ignore[arg-type]
            date_format="%Y-%m-%d|%Y",
        ),
        LETTERS,
    )
)
PLACES = dpopt.Schema((dpopt.Attribute("place", CATEGORICAL, ("0", "1", "8"), prefix=1, digits=5), NUMBERS))
TYPED = dpopt.Schema(
    (
        replace(NUMBERS, arrow="int8"),
        replace(LETTERS, arrow="category"),
        replace(DAYS, edges=("2022-12-31", "2023-07-01", "2024-01-01"), representatives=(), arrow=ZONED),  # type: ignore[arg-type]
    )
)
FEATURES = {
    "values within bins": Feature(BOTH, "parquet"),
    "values within bins, csv": Feature(BOTH, "csv"),
    "lengths": Feature(STAYS, "csv"),
    "lengths, parquet": Feature(STAYS, "parquet"),
    "durations": Feature(TOOK, "parquet", timed),
    "durations, csv": Feature(TOOK, "csv"),
    "persons": Feature(BOTH, "csv", terms={"person": "who", "rows_per_person": 2, "n0": None}),
    "persons, drop": Feature(
        BOTH, "parquet", beyond, {"person": "who", "rows_per_person": 2, "on_invalid": "drop", "n0": None}
    ),
    "rules": Feature(dpopt.Schema((NUMBERS, LETTERS), rules=(RULE,)), "csv"),
    "rules, parquet": Feature(dpopt.Schema((NUMBERS, LETTERS), rules=(RULE,)), "parquet"),
    "error": Feature(BOTH, "csv", beyond),
    "error, parquet": Feature(BOTH, "parquet", unknown),
    "clip": Feature(BOTH, "parquet", beyond, {"on_invalid": "clip"}),
    "other": Feature(BOTH, "csv", unknown, {"on_invalid": "other"}),
    "drop": Feature(BOTH, "csv", unknown, {"on_invalid": "drop"}),
    "drop, parquet": Feature(BOTH, "parquet", unknown, {"on_invalid": "drop"}),
    "clip,other": Feature(BOTH, "parquet", unknown, {"on_invalid": "clip,other"}),
    "trimmed": Feature(BOTH, "csv", padded, {"trim": True}),
    "trimmed, parquet": Feature(BOTH, "parquet", padded, {"trim": True}),
    "forms of dates": Feature(FORMS, "csv", of_forms),
    "forms of dates, parquet": Feature(FORMS, "parquet", of_forms),
    "codes without zeros": Feature(PLACES, "csv", coded),
    "codes without zeros, parquet": Feature(PLACES, "parquet", coded),
    "types of columns": Feature(TYPED, "parquet", typed, {"format": "parquet"}),
    "counted rows declared": Feature(
        BOTH, "parquet", terms={"person": "who", "rows_per_person": 2, "n0": 800, "n0_counted": True}
    ),
    "measured size": Feature(BOTH, "csv", terms={"n0": None}),
    "replaced": Feature(BOTH, "parquet", terms={"neighbours": "replace", "n0": None}),
    "no values": Feature(BOTH, "csv", terms={"values_share": 0}),
}
ALGORITHMS: dict[str, Options] = {
    "residuals": dpopt.Projection(measure="residuals", records=20),
    "counts": dpopt.Projection(measure="counts", records=20),
    "selected": dpopt.Projection(measure="selected", records=20, selections=2),
    "dualquery": dpopt.DualQuery(rounds=4, draws=20),
    "fem": dpopt.FEM(rounds=3, draws=5),
    "mwem": dpopt.MWEM(rounds=2),
    "mwem, queries": dpopt.MWEM(rounds=2, select="queries"),
    "pmw": dpopt.PMW(rounds=2),
    "smalldb": dpopt.SmallDatabase(records=3),
    "noise": dpopt.Noise(),
}
Seen = tuple[dict[str, bytes], float | None, str]
"""The files of a release, by name, what was paid, and what it was refused with."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write each feature's table as a folder of four files."""
    made = {}
    for number, (name, feature) in enumerate(FEATURES.items()):
        made[name] = tmp_path_factory.mktemp("tables") / f"{number}"
        made[name].mkdir()
        frame = feature.rows(usual_rows())
        for part in range(4):
            own, path = frame.iloc[part::4], made[name] / f"{part}.{feature.form}"
            if feature.form == "csv":
                own.to_csv(path, index=False)
            else:
                own.to_parquet(path, row_group_size=100)
    return made


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, workers: DaskWorkers) -> Callable[[], None]:
    """Let every draw follow from what is counted and from a script, which begins anew when this is called."""
    source = [SeededWords(5)]

    def noisy(_: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts + np.resize(np.array([3, -2, 0, 5], dtype=np.int64), counts.shape)

    def begin() -> None:
        source[0] = SeededWords(5)

    monkeypatch.setattr(OpendpNoise, "discrete_gaussian", noisy)
    monkeypatch.setattr(OpendpNoise, "discrete_laplace", noisy)
    monkeypatch.setattr(SystemWords, "words", lambda _, count: source[0].words(count))
    monkeypatch.setattr(DaskWorkers, "start", lambda number: workers)
    # Every reservation has a name of its own, which release.json states.
    monkeypatch.setattr("dpopt.transcript.budget_ledger.uuid", SimpleNamespace(uuid4=lambda: UUID(int=7)))
    return begin


def seen(
    folder: Path, table: Path, feature: Feature, algorithm: Options, engine: str, begin: Callable[[], None]
) -> Seen:
    """Release a table, paid from a budget, and return what was made; a refusal must have made nothing."""
    begin()
    budget = dpopt.BudgetLedger.create(
        folder / f"{engine.partition(':')[0]}.budget",
        epsilon=9,
        delta=1e-3,
        person=feature.terms.get("person"),
        neighbours=feature.terms.get("neighbours", "add-remove"),
    )
    out, why = folder / engine.partition(":")[0], ""
    terms = {"epsilon": 3, "delta": 1e-6, "n0": ROWS, "predict": False, **feature.terms}
    try:
        dpopt.release(
            table, feature.schema, "marginals:2", out=out, algorithm=algorithm, engine=engine, budget=budget,
            progress=False, **terms,
        )  # fmt: skip
    except dpopt.DpoptError as error:
        why = str(error)
        assert not out.exists()
        assert not budget.contents().releases
        return {}, None, why
    (paid,) = budget.contents().releases
    files = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    return files, paid.cost.rho, why


def pairs() -> list[tuple[str, str]]:
    """Return features with two algorithms each, so that each algorithm has several features; all take minutes."""
    names = [*ALGORITHMS]
    return [
        (feature, names[(number + shift) % len(names)])
        for number, feature in enumerate(FEATURES)
        for shift in (0, len(names) // 2)
    ]


@pytest.mark.parametrize(("feature", "algorithm"), pairs())
def test_every_engine_gives_the_release_of_memory(
    feature: str, algorithm: str, tmp_path: Path, tables: dict[str, Path], scripted: Callable[[], None]
) -> None:
    how = partial(seen, tmp_path, tables[feature], FEATURES[feature], ALGORITHMS[algorithm], begin=scripted)
    held = how("memory")
    for engine in SPREAD:
        found = how(engine)
        assert found[1:] == held[1:], engine
        assert found[0].keys() == held[0].keys(), engine
        for name, expected in held[0].items():
            assert found[0][name] == expected, (engine, name)
    assert bool(held[2]) == feature.startswith("error"), held[2]


def test_every_algorithm_is_played() -> None:
    """By every engine, with a table that fits."""
    assert {algorithm for feature, algorithm in pairs() if not feature.startswith("error")} == set(ALGORITHMS)
