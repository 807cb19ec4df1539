"""The experiments still run, on tiny made-up tables; their schemas read the published tables."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.source_code import ROOT

EXPERIMENTS = ROOT / "experiments"
CASES = sorted(path.stem for path in (EXPERIMENTS / "benchmarks" / "cases").glob("*.py"))
TABLES = {
    "adult.json": ("adult/adult-train.csv.gz", "adult/adult-test.csv.gz"),
    "nist-acs.json": ("constrained/nist-acs-national2019.csv.gz",),
    "kdd99.json": ("kdd99/kddcup.data_10_percent.gz",),
}
WITHOUT_HEADER = {"kdd99.json"}

pytestmark = pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="the experiments are not part of this copy")


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the checkout, with the tested dpopt in front of it."""
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", CASES)
def test_a_benchmark_still_runs(name: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = _run("-m", "experiments.benchmarks", name, "--quick", "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    text = file.read_text(encoding="utf-8")
    report = json.loads(text)
    assert report["quick"]
    assert report["cases"][name]["rows"]
    assert {"date", "machine", "versions"} <= set(report)
    assert platform.node() not in text or platform.node() == ""


def test_a_benchmark_says_where_it_looks_for_data(tmp_path: Path) -> None:
    done = _run("-m", "experiments.benchmarks", "counting", DPOPT_DATA=str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "DPOPT_DATA" in done.stderr


def test_an_unknown_benchmark_is_refused() -> None:
    done = _run("-m", "experiments.benchmarks", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


def test_bits_against_records_still_runs() -> None:
    done = _run("-m", "experiments.bits_against_records", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| baseline: uniform |" in done.stdout


@pytest.mark.parametrize(
    ("name", "row"),
    [("figure5", "| 5 | mwem, T by rule |"), ("multiplicative_weights", "| parities | 50 | pmw |")],
)
def test_multiplicative_weights_still_run(name: str, row: str) -> None:
    done = _run("-m", f"experiments.{name}", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert row in done.stdout


def test_every_benchmark_has_its_row_in_the_document() -> None:
    text = (EXPERIMENTS / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in CASES if f"`{name}`" not in text] == []


def test_the_launcher_measures_the_command_and_not_itself(tmp_path: Path) -> None:
    file, command = tmp_path / "measured.json", "held = bytearray(b'1') * 150_000_000; raise SystemExit(3)"
    launcher = str(EXPERIMENTS / "launch.py")
    done = _run("-I", "-S", launcher, str(file), sys.executable, "-I", "-S", "-c", command)
    measured = json.loads(file.read_text(encoding="utf-8"))
    assert done.returncode == measured["code"] == 3
    assert 150e6 < measured["peak_bytes"] < 250e6
    assert measured["seconds"] > 0


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
        ("relations", "| adult-raw, marginals:1 | projection | 1000 |"),
        ("rules_cost_nothing", "| tic-tac-toe | with | 3 |"),
        ("formulation_strength", "| kdd99 | gscip | clique |"),
        ("solver_ladder", "| kdd99 | cp-sat | first |"),
        ("ranges", "| made up | 64 | 43 | 73% | 1 |"),
        ("boxes", "| made up | 128 | 126 | 72% | Laplace | 1 |"),
        ("intervals", "| as printed, alpha' = alpha / 6 | 4,402 | 40 |"),
        ("polynomial_release", "| made up | 500 | 8 | 3 | and | 3 |"),
        ("consistent_answers", "| 3 | and |"),
        ("decision_lists", "| disjunctions | 200 | 6 | 2 to 3 | 64 | rho = 0.1 | 0 to 3 |"),
        ("papers_sanitizer", "| 6 | 3 | rho = 0.1 | or | binomials | 2 | 21 |"),
        ("approximate_degree", "| or | 1/20 | 4 | 5 |"),
        ("halfspaces", "| rho .1 | T = 2, m = 20, U = 8, sides | regression |"),
        ("hay_2010", "| 6 | 8 | 1.6571 | 4.83 | 2.67 |"),
        ("killed_runs", "| dualquery | some steps | 2 | 2 |"),
        ("audit", "| histogram, Laplace | 1 | 1.0000 | 1.0000 | 1.0000 |"),
    ],
)
def test_an_experiment_on_solvers_and_rules_still_runs(name: str, expected: str) -> None:
    done = _run("-m", f"experiments.{name}", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert expected in done.stdout
    if name == "rules_cost_nothing":
        assert "| 0 of 400 |" in done.stdout


def test_the_largest_error_of_any_range_is_that_of_trying_them_all() -> None:
    from experiments.hay_2010.tree_sums import (
        largest_errors,
        largest_errors_of_bins,
        levels_of,
        sums_of_fewest_nodes,
    )

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


def test_small_databases_still_run() -> None:
    done = _run("-m", "experiments.small_databases", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| made up | 0.1 | smalldb | 4 |" in done.stdout


def test_wide_data_still_run_and_no_row_is_measured_twice(tmp_path: Path) -> None:
    file = str(tmp_path / "results.json")
    done = _run("-m", "experiments.wide_data", "--quick", "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    for row in (
        "| netflix-shaped | 1,000 | 3 | 3 |",
        "| 200 | T = 170 as in the paper | 2 |",
        "| 50 | dualquery, zCDP | 20 | 2 |",
    ):
        assert row in done.stdout
    again = _run("-m", "experiments.wide_data", "--quick", "--json", file)
    assert again.returncode == 0, again.stdout + again.stderr
    assert '"row"' in done.stdout
    assert '"row"' not in again.stdout
    assert again.stdout in done.stdout


def test_distributional_privacy_still_runs_and_gives_the_paper_s_numbers() -> None:
    done = _run("-m", "experiments.distributional_privacy", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 4 | 0.5 | 0.3750 |" in done.stdout
    assert "| 8 | 0.25 | 0.3125 |" in done.stdout


def test_distributional_privacy_is_checked_by_exact_laws() -> None:
    """Theorem 7.3: beta below 1 / (n + 1)^2 at an epsilon gives that epsilon; a constant mechanism and one that tells all."""
    program = (
        "from fractions import Fraction as F; from experiments.distributional_privacy.exact import *\n"
        "universe = (0, 1, 2, 3)\n"
        "nothing = losses_of_pairs(lambda database: {0: F(1)}, universe, 2)\n"
        "assert differential_epsilon(nothing) == 0 == distributional_beta(nothing, universe, 2, 0.0)\n"
        "everything = losses_of_pairs(lambda database: {database: F(1)}, universe, 2)\n"
        "assert distributional_beta(everything, universe, 2, 9.0) == F(5, 6)\n"
        "coin = losses_of_pairs(lambda d: {0: F(1 + (0 in d), 3), 1: F(2 - (0 in d), 3)}, universe, 2)\n"
        "assert abs(differential_epsilon(coin) - 0.6931471805599453) < 1e-12\n"
        "assert distributional_beta(coin, universe, 2, 0.69) >= share_of_one_pair(2) == F(1, 9)\n"
        "assert distributional_beta(coin, universe, 2, 0.7) == 0\n"
        "assert [mirrored_mod(x, 4) for x in range(10)] == [0, 1, 2, 3, 3, 2, 1, 0, 0, 1]\n"
        "assert far_apart(4) == F(3, 8) and far_apart(8) == F(5, 16)\n"
    )
    done = _run("-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
