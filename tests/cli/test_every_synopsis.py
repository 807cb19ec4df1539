"""Every command that releases a synopsis: what was spent is on file, and refusals leave nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpopt import read_synopsis
from dpopt.cli.main import SYNOPSES as MODULES
from dpopt.cli.synopses.shared import Kind
from dpopt.private.curators.door import Door
from tests.cli.command_line import flat, refuse, succeed
from tests.kept_releases.make import SYNOPSES, WITHOUT_SCHEMA, write_tables

every_synopsis = pytest.mark.parametrize("name", SYNOPSES)
BUDGET = ("--epsilon", 0.5)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table for each kind."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    return folder


def command(name: str, tables: Path, *, table: Path | None = None, replace: bool = False) -> list[object]:
    """Return the command that releases this kind, without a budget and a file."""
    kind, given, *options = SYNOPSES[name][0]
    if replace and "--n0" in options:
        place = options.index("--n0")
        options = options[:place] + options[place + 2 :]
    declared = [] if kind in WITHOUT_SCHEMA else ["--schema", tables / "schema.json"]
    return [kind, "release", table or tables / str(given), *declared, *options]


@every_synopsis
@pytest.mark.parametrize(
    "budget", [("--epsilon", 0.5, "--delta", 0), ("--epsilon", 0.5, "--delta", 1e-6), ("--rho", 0.2)]
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_what_was_spent_is_said_and_on_file(
    name: str, budget: tuple[object, ...], neighbours: str, tables: Path, tmp_path: Path
) -> None:
    words = command(name, tables, replace=neighbours == "replace")
    text = flat(succeed(*words, *budget, "--neighbours", neighbours, "-o", tmp_path / "s.npz"))
    privacy = read_synopsis(tmp_path / "s.npz").privacy
    assert privacy["private"]
    assert {charge["relation"] for charge in privacy["charges"]} == {privacy["relation"]}
    if budget[0] == "--rho":
        assert "rho = 0.2000" in text
        assert privacy["rho"] <= 0.2
    else:
        assert "spent: epsilon = 0.5000" in text
        assert privacy["epsilon"] <= 0.5
        assert ("at delta = 1e-06" in text) == (privacy["delta"] > 0) == (", pure (" not in text)
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]


@pytest.fixture
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no curator be made."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a curator was made")

    monkeypatch.setattr(Door, "__init__", refused)


@every_synopsis
@pytest.mark.usefixtures("nothing_drawn")
def test_a_release_that_cannot_be_written_is_refused_before_a_draw(name: str, tables: Path, tmp_path: Path) -> None:
    words, there = [*command(name, tables), *BUDGET, "-o"], tmp_path / "there.npz"
    there.write_bytes(b"kept")
    assert "exists already" in flat(refuse(*words, there))
    assert "there is no folder" in flat(refuse(*words, tmp_path / "none" / "s.npz"))
    assert "cannot be written" in flat(refuse(*words, tmp_path / ("s" * 250 + ".npz")))
    assert there.read_bytes() == b"kept"
    assert list(tmp_path.iterdir()) == [there]


@every_synopsis
@pytest.mark.usefixtures("nothing_drawn")
def test_budgets_and_tables_that_are_none_are_refused(name: str, tables: Path, tmp_path: Path) -> None:
    words, out = command(name, tables), ("-o", tmp_path / "s.npz")
    assert "found no budget" in flat(refuse(*words, *out))
    assert "found two budgets" in flat(refuse(*words, *BUDGET, "--rho", 1, *out))
    assert "epsilon" in flat(refuse(*words, "--epsilon", -1, *out))
    assert "--neighbours is one of" in flat(refuse(*words, *BUDGET, "--neighbours", "both", *out))
    absent = command(name, tables, table=tmp_path / "absent.csv")
    assert "absent.csv" in flat(refuse(*absent, *BUDGET, *out))
    assert list(tmp_path.iterdir()) == []


@every_synopsis
def test_other_files_are_not_read(name: str, tmp_path: Path) -> None:
    (kind, *_), asked = SYNOPSES[name]
    words = [kind, "answer", *asked] if asked else [kind, "export", "-o", tmp_path / "table.csv"]
    (tmp_path / "other.npz").write_text("{}")
    assert "or damaged" in flat(refuse(*words[:2], tmp_path / "other.npz", *words[2:]))
    assert "there is no such file" in flat(refuse(*words[:2], tmp_path / "none.npz", *words[2:]))
    assert [path.name for path in tmp_path.iterdir()] == ["other.npz"]


PLANS: dict[str, tuple[object, ...]] = {
    "histogram": ("--bins", 8),
    "grid": ("--bins", "4x4"),
    "intervals": ("--bins", 8, "--n0", 400),
    "summary": ("--k", 2, "--n0", 400),
    "lists": ("--variables", "x1..x4", "--k", 3, "--n0", 40),
    "halfspaces": ("--attributes", 3, "--margin", 0.45, "--projected-to", 2, "--projections", 4, "--directions", 8,
                   "--n0", 200),
    "sorted": ("--bins", 8),
    "degrees": ("--nodes", "noisy"),
    "prefixes": ("--bins", 8),
    "count": ("--most", 8),
}  # fmt: skip
"""The plan of each kind."""
KINDS = {one.name: one for module in MODULES for one in vars(module).values() if isinstance(one, Kind)}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_every_kind_has_all_doors(kind: str) -> None:
    doors = {command.name for command in KINDS[kind].group.registered_commands}
    assert doors >= {"plan", "release", "answer", "export"}
    assert kind in PLANS
    assert kind == "prefixes" or kind in {words[0] for words, _ in SYNOPSES.values()}


@every_synopsis
def test_what_is_exported_is_a_new_file(name: str, tables: Path, tmp_path: Path) -> None:
    kind = str(SYNOPSES[name][0][0])
    file = tmp_path / "s.npz"
    succeed(*command(name, tables), *BUDGET, "-o", file)
    suffix = ".json" if kind in {"count", "summary", "lists", "halfspaces"} else ".csv"
    out = tmp_path / f"exported{suffix}"
    assert "written to" in flat(succeed(kind, "export", file, "-o", out))
    released = read_synopsis(file)
    if suffix == ".json":
        again = type(released).from_json(json.loads(out.read_text(encoding="utf-8")))
        assert again.to_json() == released.to_json()
    assert out.read_text(encoding="utf-8").strip()
    assert "exists already" in flat(refuse(kind, "export", file, "-o", out))


@every_kind
@pytest.mark.parametrize(
    ("total", "pure"), [(("--epsilon", 9, "--delta", 0), True), (("--epsilon", 9), False), (("--rho", 1), False)]
)
def test_a_plan_from_a_budget_over_many_releases_has_the_noise_of_its_release(
    kind: str, total: tuple[object, ...], pure: bool, tables: Path, tmp_path: Path
) -> None:
    """And charges nothing."""
    owner = tmp_path / "owner.budget"
    succeed("budget", "create", owner, *total)
    before = owner.read_bytes()
    schema = ["--schema", tables / "schema.json"] if kind == "summary" else []
    words = [kind, "plan", *PLANS[kind], *schema, *BUDGET]
    if kind == "prefixes" and pure:
        assert "cannot be pure" in flat(refuse(*words, "--budget", owner))
        return
    planned = json.loads(succeed(*words, "--budget", owner, "--json"))
    assert planned["budget"]["accountant"] == ("pure" if pure else "zcdp")
    assert owner.read_bytes() == before
    assert "none.budget" in flat(refuse(*words, "--budget", tmp_path / "none.budget"))
