"""The experiments still run, on tiny made-up tables, and go on where they stopped; their schemas read the published tables."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import psutil
import pytest
from scipy.optimize import isotonic_regression

from dpopt.models import isotonic_median_regression
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.cli.command_line import call
from tests.source_code import ROOT

if not (ROOT / "experiments").is_dir():
    pytest.skip("the experiments are not part of this copy", allow_module_level=True)

from experiments import runs
from experiments.benchmarks import __main__ as benchmarks
from experiments.benchmarks import engine_process
from experiments.benchmarks.cases import dask_workers
from experiments.benchmarks.markdown import tables
from experiments.benchmarks.registry import Bar, Case, Result, Setting, load_cases
from experiments.distributional_privacy import exact
from experiments.distributional_privacy.definition import distributional_privacy
from experiments.documents import circumstances
from experiments.hay_2010.theory import expected_error_bound
from experiments.hay_2010.tree_sums import largest_errors, largest_errors_of_bins, levels_of, sums_of_fewest_nodes
from experiments.hay_2010.unattributed import least_absolute
from experiments.hay_2010.wavelets import wavelet_bins, wavelet_variances
from experiments.one_estimator import tables as judged_tables
from experiments.one_estimator.measuring import errors
from experiments.one_estimator.methods import Released
from experiments.one_estimator.summary import replaced
from experiments.one_estimator.summary import rows as rows_of
from experiments.wide_tables import biased_bits, netflix_shaped

EXPERIMENTS = ROOT / "experiments"
CASES = sorted(load_cases())
TABLES = {
    "adult.json": ("adult/adult-train.csv.gz", "adult/adult-test.csv.gz"),
    "nist-acs.json": ("constrained/nist-acs-national2019.csv.gz",),
    "kdd99.json": ("kdd99/kddcup.data_10_percent.gz",),
}
WITHOUT_HEADER = {"kdd99.json"}


class Run(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    error: str


def _launched(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    """Do what the launcher does in this process: run `... launch.py FILE python -m dpopt ARGUMENTS`."""
    place = command.index(str(runs.LAUNCHER))
    started, processor = time.perf_counter(), time.process_time()
    done = call("", *command[place + 5 :])
    measured = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "peak_bytes": psutil.Process().memory_info().rss,
    }
    Path(command[place + 1]).write_text(json.dumps(measured), encoding="utf-8")
    return subprocess.CompletedProcess(command, done.exit_code, done.stdout, done.stderr)


def _counted(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Count in this process, where a benchmark starts one for an engine; workers of Dask have processes of their own."""
    place = command.index(engine_process.__name__)
    if "kill" in command:
        return subprocess.run(command, **options)  # noqa: PLW1510  it passes check
    out = io.StringIO()
    with redirect_stdout(out):
        engine_process.main(command[place + 1 :])
    return subprocess.CompletedProcess(command, 0, out.getvalue(), "")


def _run(name: str, *arguments: str) -> Run:
    """Run an experiment in this process, and its commands: libraries are loaded and kernels read once for all of them."""
    program = import_module(f"experiments.{name}.__main__")
    out, error, path = io.StringIO(), io.StringIO(), os.environ.get("PYTHONPATH")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")
        patch.setattr(runs, "subprocess", SimpleNamespace(run=_launched))
        patch.setattr(dask_workers, "subprocess", SimpleNamespace(run=_counted))
        patch.chdir(ROOT)  # and processes that it starts find the experiments as well
        patch.setenv("PYTHONPATH", os.pathsep.join([*filter(None, [path]), str(ROOT)]))
        with redirect_stdout(out), redirect_stderr(error):
            try:
                code = program.main(list(arguments))
            except SystemExit as ended:
                code = ended.code
    return Run(int(code or 0), out.getvalue(), error.getvalue())


def _passed(name: str, *arguments: str) -> str:
    """Return what an experiment prints that ends well."""
    done = _run(name, *arguments)
    assert done.code == 0, done.out + done.error
    return done.out


@pytest.mark.parametrize("name", CASES)
def test_a_benchmark_still_runs(name: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    _passed("benchmarks", name, "--quick", "--json", str(file))
    text = file.read_text(encoding="utf-8")
    report = json.loads(text)
    assert report["quick"]
    assert report["cases"][name]["rows"]
    assert {"date", "machine", "versions"} <= set(report)
    assert platform.node() not in text or platform.node() == ""


def test_a_benchmark_says_where_it_looks_for_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPOPT_DATA", str(tmp_path / "nowhere"))
    done = _run("benchmarks", "counting")
    assert done.code == 2
    assert "DPOPT_DATA" in done.error


def test_an_unknown_benchmark_is_refused() -> None:
    done = _run("benchmarks", "nothing")
    assert done.code == 2
    assert "nothing" in done.error


def test_every_benchmark_has_its_row_in_the_document() -> None:
    text = (EXPERIMENTS / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in CASES if f"`{name}`" not in text] == []


def test_a_command_is_measured_in_a_process_of_its_own() -> None:
    """As all are; the other tests run commands in theirs."""
    done = runs.run_dpopt(["--version"])
    assert "dpopt" in done.output
    assert done.seconds > 0
    assert done.processor_seconds > 0
    assert done.peak_bytes > 10e6


def test_the_launcher_measures_the_command_and_not_itself(tmp_path: Path) -> None:
    """As a program, which is how an experiment is started too."""
    file, command = tmp_path / "measured.json", "held = bytearray(b'1') * 150_000_000; raise SystemExit(3)"
    launcher, python = str(EXPERIMENTS / "launch.py"), [sys.executable, "-I", "-S"]
    done = subprocess.run([*python, launcher, str(file), *python, "-c", command], check=False)
    measured = json.loads(file.read_text(encoding="utf-8"))
    assert done.returncode == measured["code"] == 3
    assert 150e6 < measured["peak_bytes"] < 250e6
    assert measured["seconds"] > 0


def test_an_experiment_is_a_program() -> None:
    """One of them in a process of its own; all end alike."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    command = [sys.executable, "-m", "experiments.approximate_degree", "--help"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True)
    ending = 'if __name__ == "__main__":\n    sys.exit(main())\n'
    programs = sorted(EXPERIMENTS.glob("*/__main__.py"))
    assert [file for file in programs if not file.read_text(encoding="utf-8").endswith(ending)] == []


@pytest.mark.parametrize("name", TABLES)
def test_a_schema_reads_its_published_tables(name: str, data_folder: Path) -> None:
    schema = Schema.read(EXPERIMENTS / "schemas" / name)
    columns = list(schema.names) if name in WITHOUT_HEADER else None
    for table in TABLES[name]:
        read_table(data_folder / table, schema, TableReading(column_names=columns))


@pytest.mark.parametrize("name", TABLES)
def test_a_schema_is_reviewed(name: str) -> None:
    assert not Schema.read(EXPERIMENTS / "schemas" / name).draft


def test_the_three_way_marginals_of_adult_have_515212_cells() -> None:
    schema = Schema.read(EXPERIMENTS / "schemas" / "adult.json")
    assert len(parse_workload("marginals:3", schema)) == 515_212


def test_the_columns_of_kdd99_are_the_published_ones(data_folder: Path) -> None:
    names = json.loads((data_folder / "kdd99" / "kdd99-columns.json").read_text(encoding="utf-8"))
    assert list(Schema.read(EXPERIMENTS / "schemas" / "kdd99.json").names) == names


def test_the_schema_of_nist_acs_declares_the_values_of_the_public_dictionary(data_folder: Path) -> None:
    file = data_folder / "constrained" / "nist-acs-data-dictionary.json"
    dictionary = json.loads(file.read_text(encoding="utf-8"))
    schema = Schema.read(EXPERIMENTS / "schemas" / "nist-acs.json")
    for attribute in schema.attributes:
        published = dictionary[attribute.name].get("values", {})
        if not attribute.edges:
            assert {str(value) for value in attribute.values} == set(published) - {"N"}
        elif "max" in published:
            assert attribute.edges[0] <= min(published["min"], 0 if "0" in published else published["min"])
            assert attribute.edges[-1] >= published["max"]
        assert (attribute.missing == "N") == ("N" in published or attribute.name == "INDP")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("front", "| 65 to 100 |"),
        ("means", "| adult-raw | 10 | 24 |"),
        ("error_falls", "| all | 1 | 15 |"),
        ("ablations", "| 10 | nothing | 1.000 | 1.000 |"),
        ("default_and_peers", "| made up | 10 | unshrunken | 1 |"),
        ("answers_cover", "| counts | 10 | 106 |"),
        ("rules_cost_nothing", "| tic-tac-toe | with | 3 |"),
        ("formulation_strength", "| kdd99 | gscip | clique |"),
        ("solver_ladder", "| kdd99 | cp-sat | first |"),
        ("portfolio", "| kdd99, conjunctions | cp-sat | helped |"),
        ("dpbench", "| made up, two columns | boxes | 1 | AHP |"),
        ("intervals", "| as printed, alpha' = alpha / 6 | 4,402 | 40 |"),
        ("polynomial_release", "| made up | 500 | 8 | 3 | and | 3 |"),
        ("decision_lists", "| disjunctions | 200 | 6 | 2 to 3 | 64 | rho = 0.1 | 0 to 3 |"),
        ("papers_sanitizer", "| 6 | 3 | rho = 0.1 | or | binomials | 2 | 21 |"),
        ("approximate_degree", "| or | 1/20 | 4 | 5 |"),
        ("halfspaces", "| rho .1 | T = 2, m = 20, U = 8, sides | regression |"),
        ("hay_2010", "| 6 | 8 | 1.6571 | 4.83 | 2.67 |"),
        ("killed_runs", "| dualquery | some steps | 1 | 1 |"),
        ("audit", "| histogram, Laplace | 1 | 1.0000 | 1.0000 | 1.0000 |"),
        ("figure5", "| 5 | mwem, T by rule |"),
        ("multiplicative_weights", "| parities | 1 | pmw |"),
        ("models_and_solvers", "| isotonic_regression | 7 | duals |"),
        ("small_databases", "| made up | 0.1 | smalldb | 4 |"),
    ],
)
def test_an_experiment_still_runs(name: str, expected: str) -> None:
    out = _passed(name, "--quick")
    assert expected in out
    if name == "rules_cost_nothing":
        assert "| 0 of 400 |" in out


def test_an_error_that_rises_with_epsilon_is_found_and_runs_are_added() -> None:
    """Means and deviations of two parts are those of all runs; a doubled error fails, noise does not."""
    from experiments.error_falls.__main__ import failures, merged
    from experiments.error_falls.measuring import FIGURES

    def row(epsilon: float, runs: list[float], product: float = 1.0) -> dict[str, Any]:
        own = np.array(runs)
        part = {"means": f"{own.mean()} {product} 1", "deviations": " ".join([str(own.std(ddof=1))] * 3)}
        return {"table": "tiny trend", "epsilon": epsilon, "runs": len(runs), **dict.fromkeys(FIGURES, part)}

    low, high = [0.1, 0.11, 0.09, 0.1, 0.105], [0.2, 0.21, 0.19, 0.2]
    found = merged([row(0.1, low[:2]), row(0.1, low[2:]), row(1.0, high)])
    means, deviations = found["tiny trend", 0.1]["tv"]
    assert (means[0], deviations[0]) == pytest.approx((np.mean(low), np.std(low, ddof=1)))
    number, excesses, failed = failures(found)
    assert (number, excesses) == (3 * (2 * 2 + 1), 3)
    assert [entry[1:3] for entry in failed] == [[title, "1"] for title in FIGURES.values()]
    assert failures(merged([row(0.1, low), row(1.0, [0.11, 0.09, 0.11, 0.1])]))[1:] == (3, [])
    above = failures(merged([row(0.1, low, product=0.05)]))[2]
    assert [entry[3] for entry in above] == ["0.101 where product has 0.05"] * 3


def test_the_largest_error_of_any_range_is_that_of_trying_them_all() -> None:
    tree = Tree.balanced(16, 2)
    errors = np.random.default_rng(1).integers(-9, 10, (20, len(tree))).astype(np.float64)
    ranges = np.array([(start, stop) for start in range(16) for stop in range(start + 1, 17)])
    starts, stops = (np.tile(side, (20, 1)) for side in ranges.T)

    def fewest(node: int, start: int, stop: int) -> list[int]:
        first, size = int(tree.start[node]), int(tree.size[node])
        if stop <= first or first + size <= start:
            return []
        if start <= first and first + size <= stop:
            return [node]
        child = int(tree.first_child[node])
        return fewest(child, start, stop) + fewest(child + 1, start, stop)

    of_nodes = np.stack([errors[:, fewest(0, *pair)].sum(axis=1) for pair in ranges.tolist()], axis=1)
    assert np.array_equal(sums_of_fewest_nodes(levels_of(tree, errors), starts, stops), of_nodes)
    assert np.array_equal(largest_errors(levels_of(tree, errors)), np.abs(of_nodes).max(axis=1))
    bins = errors[:, tree.leaf_of_bin]
    of_bins = np.stack([bins[:, start:stop].sum(axis=1) for start, stop in ranges.tolist()], axis=1)
    assert np.array_equal(largest_errors_of_bins(bins), np.abs(of_bins).max(axis=1))


def test_the_bound_of_the_error_is_reached_by_separate_blocks() -> None:
    """v sum_r H_(n_r), and far below it where values are near each other. 4,000 draws, standard error below 1%."""
    generator = np.random.default_rng(2)
    for gap, low, high in ((1e3, 0.96, 1.04), (0.3, 0.0, 0.8)):
        truth = gap * np.repeat([0.0, 1.0, 2.0], [7, 1, 20])
        errors = [
            ((isotonic_regression(truth + noise).x - truth) ** 2).sum()
            for noise in generator.laplace(0, 2, (4000, truth.size))
        ]
        assert low <= np.mean(errors) / expected_error_bound([7, 1, 20], 8.0) <= high
    assert expected_error_bound([1, 2, 4], 1.0) == pytest.approx(1 + 1.5 + 25 / 12)
    assert expected_error_bound([], 1.0) == 0
    for numbers, variance, message in (([0], 1.0, "at least 1"), ([1], -1.0, "variance")):
        with pytest.raises(ValueError, match=message):
            expected_error_bound(numbers, variance)


def test_least_absolute_differences_are_those_of_the_model() -> None:
    generator = np.random.default_rng(3)
    for size in (1, 2, 9, 40):
        values = np.sort(generator.integers(0, 9, size)) + generator.integers(-5, 6, size)
        found, best = least_absolute(values), isotonic_median_regression(values, lower=0).solve().objective
        assert found.min() >= 0
        assert (np.diff(found) >= 0).all()
        assert np.abs(found - values).sum() == pytest.approx(best)


def test_wavelets_have_the_variances_of_their_least_squares() -> None:
    """Bins and variances of all ranges, from the matrix of totals and differences."""
    rows = [np.ones(16)]
    for size in (16, 8, 4, 2):
        half = size // 2
        rows += [np.repeat([0, 1, -1, 0], [begin, half, half, 16 - begin - size]) for begin in range(0, 16, size)]
    wavelets = np.array(rows, dtype=np.float64)
    noise = np.random.default_rng(1).normal(size=(3, 16))
    assert np.allclose(wavelet_bins(noise), np.linalg.solve(wavelets, noise.T).T)
    starts, stops = np.array([(start, stop) for start in range(16) for stop in range(start + 1, 17)]).T
    places = np.arange(16)
    asked = ((places >= starts[:, None]) & (places < stops[:, None])).astype(np.float64)
    expected = np.einsum("qn,nm,qm->q", asked, np.linalg.inv(wavelets.T @ wavelets), asked)
    assert np.allclose(wavelet_variances(16, starts, stops), expected)


def test_wide_data_still_run_and_no_row_is_measured_twice(tmp_path: Path) -> None:
    options = ["--quick", "--json", str(tmp_path / "results.json")]
    out = _passed("wide_data", *options)
    for row in (
        "| netflix-shaped | 1,000 | 3 | 3 |",
        "| 200 | T = 170 as in the paper | 2 |",
        "| 50 | dualquery, zCDP | 20 | 2 |",
    ):
        assert row in out
    again = _passed("wide_data", *options)
    assert '"row"' in out
    assert '"row"' not in again
    assert again in out


def test_distributional_privacy_still_runs_and_gives_the_paper_s_numbers() -> None:
    out = _passed("distributional_privacy", "--quick")
    assert "| 4 | 0.5 | 0.3750 |" in out
    assert "| 8 | 0.25 | 0.3125 |" in out


def test_distributional_privacy_is_checked_by_exact_distributions() -> None:
    """Theorem 7.3: beta below 1 / (n + 1)^2 at an epsilon gives that epsilon."""
    coin = distributional_privacy(
        lambda one: {0: Fraction(1 + (0 in one), 3), 1: Fraction(2 - (0 in one), 3)}, range(4), 2
    )
    assert coin.beta(0.69) >= exact.share_of_one_pair(2) == Fraction(1, 9)
    assert [exact.mirrored_mod(x, 4) for x in range(10)] == [0, 1, 2, 3, 3, 2, 1, 0, 0, 1]
    assert (exact.far_apart(4), exact.far_apart(8)) == (Fraction(3, 8), Fraction(5, 16))


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Put two cases in place of all, whose figures the test sets."""
    figures = {"one": 1.0, "two": 2.0}

    def case(name: str) -> Case:
        def measure(setting: Setting) -> Result:
            return Result([{"figure": figures[name], "runs": setting.runs}], [Bar("figure", figures[name], 5)])

        return Case(name, f"How large is {name}?", measure)

    monkeypatch.setattr(benchmarks, "load_cases", lambda: {name: case(name) for name in figures})
    return figures


def measured(file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = benchmarks.main([*arguments, "--json", str(file)])
    return code, json.loads(file.read_text(encoding="utf-8"))


def test_named_cases_are_added_and_say_what_they_were_measured_on(figures: dict[str, float], tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    measured(file, "--runs", "4")
    figures |= {"one": 10.0, "two": 20.0}
    code, report = measured(file, "two", "--runs", "3")
    assert code == 1  # 20 is above the limit
    assert report["runs"] == 4
    assert report["cases"]["one"]["rows"] == [{"figure": 1.0, "runs": 4}]
    assert report["cases"]["two"]["rows"] == [{"figure": 20.0, "runs": 3}]
    assert "circumstances" not in report["cases"]["one"]
    own = report["cases"]["two"]["circumstances"]
    assert own["runs"] == 3
    lines = list(tables(report))
    place = lines.index("\n**`two`** How large is two?\n")
    assert lines[place + 1] == circumstances(own) + "\n"
    assert "Missed: figure, 20." in lines


def test_a_run_of_all_cases_begins_anew(figures: dict[str, float], tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    measured(file, "one", "--runs", "2")
    figures["one"] = 3.0
    _, report = measured(file, "--runs", "2")
    assert report["cases"]["one"]["rows"] == [{"figure": 3.0, "runs": 2}]
    assert all("circumstances" not in case for case in report["cases"].values())


def test_quick_results_are_never_mixed_with_others(figures: dict[str, float], tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    measured(file, "--quick")
    _, report = measured(file, "one", "--runs", "2")
    assert set(report["cases"]) == {"one"}
    _, report = measured(file, "two", "--quick")
    assert set(report["cases"]) == {"two"}
    assert report["quick"]


def test_one_estimator_goes_on_where_it_stopped_and_takes_a_method_from_a_file(tmp_path: Path) -> None:
    """A method that returns the table itself has no error, and is compared with what was measured before it."""
    mine, file = tmp_path / "mine.py", tmp_path / "results.jsonl"
    mine.write_text("def method(codes, *others): return codes, None\n", encoding="utf-8")
    options = ["--quick", "--results", str(file), "--methods"]
    _passed("one_estimator", *options, "independence")
    first = file.read_text(encoding="utf-8")
    out = _passed("one_estimator", *options, "independence", f"mine={mine}")
    new = file.read_text(encoding="utf-8").removeprefix(first)
    result = json.loads(new)
    assert [result[key] for key in ("method", "tv", "largest", "mean", "tv4", "association")] == ["mine", 0, 0, 0, 0, 0]
    assert re.search(r"\| made up \| 64 pairs \| 10 \| 1 \| \*\*0\.\d+\*\* \| \*\*0\*\* \|", out)


def test_a_method_measured_again_alone_takes_the_place_of_its_rows_and_leaves_all_others() -> None:
    again = {"table": "car", "kind": "64of3", "epsilon": 1.0, "method": "residuals"}
    others = [again | {"table": "adult"}, again | {"epsilon": 10.0}, again | {"method": "pairs", "failed": "no"}]
    kept = rows_of([{"tv": 0.5, **one} for one in (again, *others)])
    found = replaced(kept, rows_of([again | {"tv": tv} for tv in (0.1, 0.2, 0.9)]))
    place = found.index(next(row for row in found if row not in kept))
    assert (found[place]["tv"], found[place]["runs"]) == (0.2, 3)
    assert kept[place].items() >= again.items()
    assert found[:place] + found[place + 1 :] == kept[:place] + kept[place + 1 :]


@pytest.mark.parametrize("values", [3, 300])
def test_one_estimator_is_judged_by_the_differences_of_all_cells(values: int) -> None:
    """Shares 1/4, 1/4, 1/2 against 1/4, 0, 3/4, of 6 cells, or of so many that those without records are not visited."""
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.int32)
    table = judged_tables.Table("by hand", codes, np.array([2, values], dtype=np.int32), ("a", "b"))
    released = Released(codes[[0, 2]], np.array([1.0, 3.0]))
    expected = {"tv": 0.25, "largest": 0.25, "mean": 0.5 / (2 * values)}
    assert errors(table, [(0, 1)], released) == pytest.approx(expected)
    assert errors(table, [(0, 1)], Released(codes)) == {"tv": 0, "largest": 0, "mean": 0}


def test_the_sparse_table_is_the_same_for_ever_and_for_all_threads() -> None:
    table = netflix_shaped(1_000, 130, 0.02, seed=3, threads=1)
    other = netflix_shaped(1_000, 130, 0.02, seed=3, threads=3)
    assert np.array_equal(table.starts, other.starts)
    assert np.array_equal(table.listed, other.listed)
    digest = hashlib.sha256(table.starts.astype("<i8").tobytes() + table.listed.astype("<u4").tobytes())
    assert digest.hexdigest()[:16] == "0803e319fb425871"


def test_the_sparse_table_is_filled_as_it_says() -> None:
    """The number of ones is within five standard deviations of what is expected, popularity that of Zipf and Mandelbrot."""
    rows, columns, fill = 30_000, 400, 0.012
    table = netflix_shaped(rows, columns, fill)
    lengths = np.diff(table.starts)
    # Activities of records, with a standard deviation of about 2, make up most of what differs from one table to the next.
    assert abs(lengths.sum() / (rows * columns * fill) - 1) < 5 * 2 / np.sqrt(rows)
    middle = lengths[190:210].mean()
    assert 0.5 < lengths[20:40].mean() / middle / ((200 + 10) / (30 + 10)) ** 2 < 1.5
    per_record = np.bincount(table.listed, minlength=rows)
    assert per_record.std() > 1.2 * per_record.mean()


def test_columns_of_one_class_occur_together() -> None:
    """Over all pairs of the 60 most popular columns, the excess over independence has two clearly different sizes."""
    table = netflix_shaped(20_000, 60, 0.05)
    dense = np.stack([table.dense(column) for column in range(60)]).astype(np.float64)
    together = dense @ dense.T / 20_000
    alone = dense.mean(axis=1)
    excess = (together / np.outer(alone, alone))[np.triu_indices(60, 1)]
    assert (excess > 1).mean() > 0.9
    assert np.quantile(excess, 0.97) > 1.5 * np.median(excess)


def test_biased_bits_are_the_same_for_ever_and_made_column_by_column() -> None:
    table = biased_bits(1_000, 500_000, seed=5)
    wanted = np.array([0, 499_999, 7, 123_456])
    words = np.zeros((4, 16), dtype=np.uint64)
    table.pack_into(wanted, words)
    assert hashlib.sha256(words.astype("<u8").tobytes()).hexdigest()[:16] == "71de19b8244f7c3b"
    for row, column in zip(words, wanted.tolist(), strict=True):
        assert np.array_equal(np.unpackbits(row.view(np.uint8), count=1_000, bitorder="little"), table[column])
        assert not np.unpackbits(row.view(np.uint8), bitorder="little")[1_000:].any()
    assert np.array_equal(table.ones(wanted), [int(table[column].sum()) for column in wanted.tolist()])


def test_biased_bits_have_their_probabilities_which_are_uniform() -> None:
    """Chi-squared over 400 columns, and Kolmogorov's distance of their probabilities, both at a false-alarm rate below 1e-6."""
    table = biased_bits(2_000, 400)
    chosen = np.arange(400)
    chances = table.probabilities(chosen)
    expected = 2_000 * chances
    inside = (expected > 20) & (expected < 1_980)
    squares = (table.ones(chosen) - expected)[inside] ** 2 / (expected * (1 - chances))[inside]
    assert abs(squares.sum() - inside.sum()) < 5.5 * np.sqrt(2 * inside.sum())
    distance = np.abs(np.sort(chances) - np.arange(1, 401) / 400).max()
    assert distance < 2.7 / np.sqrt(400)
