"""The studio by its requests: who gets in, what a file may hold, and what becomes of a run that is stopped."""

from __future__ import annotations

import html
import re
import shlex
import shutil
import stat
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio's libraries are not installed: pip install 'dpopt[studio]'")

from starlette.testclient import TestClient

import dpopt
from dpopt.algorithms.replay import differing_files, replay
from dpopt.errors import FIELDS, DpoptError, PlanError, SchemaError
from dpopt.files.json_files import read_json_object
from dpopt.html_pages.shown import answer_in_words
from dpopt.studio.application import Studio
from dpopt.studio.forms import ColumnForm, rule_of, rules_of, scales_of
from dpopt.studio.tables import FormEntries, ending_of
from tests.cli.command_line import succeed

HOSTILE = "<script>alert(1)</script>"
TABLE = (
    "age,sex,"
    + HOSTILE
    + "\n"
    + "".join(f"{20 + i % 50},{'fm'[i % 2]},{'<b>' if i % 3 else 'no'}\n" for i in range(900))
)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    running = Studio(tmp_path / "releases")
    yield running
    running.close()


@pytest.fixture
def owner(studio: Studio) -> TestClient:
    """Return a browser that has opened the address."""
    return entered(studio)


def entered(studio: Studio) -> TestClient:
    """Return a browser that has opened the address."""
    client = TestClient(studio.application(), base_url=f"http://127.0.0.1:{studio.port}")
    client.headers["origin"] = f"http://127.0.0.1:{studio.port}"
    assert client.get(studio.address).status_code == 200
    client.base_url = client.base_url.join(f"{studio.base}/")
    return client


def opened(owner: TestClient, text: str = TABLE, name: str = "people.csv") -> str:
    """Send a table and return the address of its pages."""
    answer = owner.post("/tables", files={"file": (name, text.encode())}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return "/tables/" + str(answer.headers["location"]).split("/")[-2]


def generation(owner: TestClient, page: str) -> str:
    """Return the number of columns, rules and plan that a page of the studio sends back."""
    return str(re.findall(r'\?generation=(\d+)"', owner.get(page).text)[0])


def sent(owner: TestClient, page: str, **form: str) -> Any:
    """Send the form of a page as it is shown now."""
    return owner.post(page, params={"generation": generation(owner, page)}, data=form, follow_redirects=False)


def started(owner: TestClient, table: str) -> Any:
    """Press the button of the plan that is shown now."""
    params = {"generation": generation(owner, f"{table}/plan")}
    return owner.post(f"{table}/run", params=params, data={"do": "start"})


def reviewed(owner: TestClient, studio: Studio, table: str, **changes: str) -> None:
    """Send the form of the columns as it is shown, changed as asked."""
    form = {"reviewed": "yes"}
    for i, column in enumerate(studio.tables[table.rpartition("/")[2]].columns()):
        form |= {f"kind-{i}": column.kind, f"codes-{i}": column.codes, f"missing-{i}": column.missing}
        form |= {f"kept-{i}": "yes"} if column.kept else {}
        form |= {f"whole-{i}": "yes"} if column.whole else {}
        form[f"more-{i}"] = column.more
    answer = sent(owner, f"{table}/columns", **form | changes)
    assert answer.status_code == 303, answer.text
    assert sent(owner, f"{table}/rules", rules="").status_code == 303


def planned(owner: TestClient, table: str, **asked: str) -> str:
    """Plan, and return the page."""
    usual = {"n": "1000", "epsilon": "2", "delta": "1e-6", "workload": "marginals:1"}
    answer = owner.post(f"{table}/plan", data={**usual, **asked})
    for _ in range(600):
        if "Planning: errors are predicted" not in answer.text:
            return answer.text
        time.sleep(0.1)
        answer = owner.get(f"{table}/plan")
    raise AssertionError("the planning does not end")


def ended(owner: TestClient, table: str) -> str:
    """Wait until a run has ended and return its page."""
    for _ in range(600):
        page = owner.get(f"{table}/run").text
        if "<h1>Releasing</h1>" not in page:
            return page
        time.sleep(0.1)
    raise AssertionError("the run does not end")


def test_nobody_gets_in_without_the_token(studio: Studio, owner: TestClient) -> None:
    table = opened(owner)
    base = f"http://127.0.0.1:{studio.port}"
    inside = [studio.base + one for one in ("/", table, f"{table}/columns", f"{table}/owner.html")]
    for address in (*inside, "/", "/?token=wrong", "/?token="):
        refused = TestClient(studio.application(), base_url=base).get(address)
        assert refused.status_code == 403
        assert "people" not in refused.text
    assert TestClient(studio.application(), base_url=base).get(table).status_code == 404
    stranger = TestClient(studio.application(), base_url=base, cookies={f"dpopt_studio_{studio.port}": "guess"})
    assert stranger.get(f"{studio.base}/").status_code == 403


def test_other_hosts_and_other_sites_are_refused(studio: Studio, owner: TestClient) -> None:
    assert owner.get("/", headers={"host": f"evil.example:{studio.port}"}).status_code == 403
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{studio.port}", "http://127.0.0.1:1"):
        assert owner.post("/tables", data={"path": "/etc/passwd"}, headers={"origin": origin}).status_code == 403
    del owner.headers["origin"]
    assert owner.post("/tables", data={"path": "/etc/passwd"}).status_code == 403


def test_pages_hold_no_scripts_ask_nobody_else_and_are_kept_nowhere(owner: TestClient) -> None:
    answer = owner.get(f"{opened(owner)}/columns")
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text
    assert "for you only" in answer.text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("people.exe", "a\n1\n", "a table is a file that ends with one of"),
        ("empty.csv", "", "error|empty|no "),
        ("only.csv", "age,sex\n", "no rows"),
        (f"{HOSTILE}.docx", "x", "script&gt;.docx"),
        ("../../etc/passwd", "x", "a table is a file that ends with one of"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(owner: TestClient, name: str, content: str, said: str) -> None:
    answer = owner.post("/tables", files={"file": (name, content.encode())})
    assert answer.status_code == 400
    assert any(word in answer.text for word in said.split("|"))
    assert "Traceback" not in answer.text
    assert HOSTILE not in answer.text


def test_a_path_is_read_where_it_is_and_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TABLE)
    (tmp_path / "others.csv").write_text(TABLE)
    studio = Studio(tmp_path / "releases", files=[tmp_path / "people.csv"])
    owner = entered(studio)
    answer = owner.post("/tables", data={"path": str(tmp_path / "people.csv")}, follow_redirects=False)
    assert answer.status_code == 303
    assert [table.path for table in studio.tables.values()] == [tmp_path / "people.csv"]
    others = [str(tmp_path / name) for name in ("none.csv", "others.csv")]
    for unknown in (*others, "/etc/passwd", "~nobody-of-this-name/people.csv", "a" * 5000 + ".csv", "a\0.csv"):
        assert "was not named when you started the studio" in owner.post("/tables", data={"path": unknown}).text
    studio.close()
    with pytest.raises(PlanError, match="there is no file"):
        Studio(tmp_path, files=[tmp_path / "none.csv"])


def test_a_button_that_is_pressed_twice_starts_one_release(
    owner: TestClient, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(owner)
    reviewed(owner, studio, table)
    planned(owner, table)

    class Slow:
        def __init__(self, *_: object, **__: object) -> None:
            time.sleep(0.1)  # both requests are here at the same time without a lock

        def poll(self) -> int | None:
            return None

        pid, stdin = 2**30, None

        def wait(self) -> None: ...

    monkeypatch.setattr("dpopt.studio.tables.subprocess.Popen", Slow)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(started, owner, table) for _ in range(2)]
    assert sum("is running; wait until it ends" in one.result().text for one in asked) == 1


def test_what_was_sent_is_for_this_user_alone_and_goes_with_the_studio(studio: Studio, owner: TestClient) -> None:
    opened(owner)
    sent = next(studio.private.rglob("table.csv"))
    assert stat.S_IMODE(studio.private.stat().st_mode) == 0o700
    assert stat.S_IMODE(sent.stat().st_mode) == 0o600
    studio.close()
    assert not studio.private.exists()


def test_columns_are_confirmed_and_changed_as_asked(studio: Studio, owner: TestClient) -> None:
    table = opened(owner)
    refused = owner.post(f"{table}/columns", data={"kept-0": "yes", "kind-0": "numeric", "codes-0": "0\n50\n120"})
    assert "confirm at the end" in refused.text
    reviewed(owner, studio, table, **{"kind-0": "numeric", "codes-0": "0\n50\n120", "whole-0": "yes", "kept-2": ""})
    schema: Any = studio.tables[table.rpartition("/")[2]].schema
    assert not schema.draft
    assert [one.name for one in schema.attributes] == ["age", "sex"]
    assert schema.attributes[0].edges == (0, 50, 120)
    young = {"reviewed": "y", "kept-0": "y", "kind-0": "numeric", "codes-0": "young"}
    wrong = sent(owner, f"{table}/columns", **young)
    assert "is a number on a line of its own; found &#39;young&#39;" in wrong.text


@pytest.mark.parametrize("step", ["", "/columns", "/rules", "/plan", "/run", "/owner.html", "/task.json"])
def test_a_step_that_comes_too_early_is_refused_in_words(studio: Studio, owner: TestClient, step: str) -> None:
    """By its address, as a bookmark or the button back leads there."""
    page = opened(owner).removesuffix("/columns") + step
    origin = {"origin": f"http://127.0.0.1:{studio.port}"}
    for generation in ("", "?generation=0"):
        assert owner.get(page + generation).status_code in (200, 303, 404)
        for form in ({}, {"do": "continue"}, {"do": "stop"}, {"rules": "", "accept": "1"}, {"epsilon": "x"}):
            answer = owner.post(page + generation, data=form, headers=origin, follow_redirects=False)
            assert answer.status_code in (303, 400, 405)


def test_rules_are_checked_before_they_are_taken(studio: Studio, owner: TestClient) -> None:
    table = opened(owner)
    reviewed(owner, studio, table)
    for text, said in (("{", "line 1"), ("[1]", "is not a JSON object"), ('{"forbidden": ["height"]}', "height")):
        assert said in sent(owner, f"{table}/rules", rules=text).text
    rule = '{"forbidden": ["sex"], "combinations": [["f"]]}'
    assert sent(owner, f"{table}/rules", rules=rule).status_code == 303
    schema = studio.tables[table.rpartition("/")[2]].schema
    assert schema is not None
    assert len(schema.rules) == 1


def test_a_release_is_planned_run_reported_and_downloaded(studio: Studio, owner: TestClient, tmp_path: Path) -> None:
    table = opened(owner)
    assert owner.get(f"{table}/owner.html").status_code == 404
    reviewed(owner, studio, table)
    assert "expected a whole number" in planned(owner, table, n="many")
    page = planned(owner, table)
    assert "Release with epsilon 2" in page
    assert "Predicted mean error against epsilon" in page
    started(owner, table)
    page = ended(owner, table)
    assert "You can publish" in page
    _names_what_is_to_be_looked_at(page)
    _answers_as_the_function_does(owner, studio, table)
    packed = zipfile.ZipFile(BytesIO(owner.get(f"{table}/release.zip").content))
    packed.extractall(tmp_path)
    folder = next(path for path in tmp_path.iterdir() if (path / "release.json").exists())
    (folder / "report.html").unlink()
    replay(folder, tmp_path / "again")
    assert differing_files(folder, tmp_path / "again") == []
    assert owner.get(f"{table}/synthetic.csv").text.startswith("age,sex,")
    assert "Not private" in owner.get(f"{table}/owner.html").text
    assert "for the owner of the table only" not in owner.get(f"{table}/public.html").text
    for name in ("task.json", "plan.json", "..%2F..%2Fetc%2Fpasswd", "transcript.jsonl"):
        assert owner.get(f"{table}/{name}").status_code == 404


def _names_what_is_to_be_looked_at(page: str) -> None:
    """Before publishing: the ten points of the known limits, and what was spent and made."""
    limits = (Path(__file__).parents[2] / "docs" / "known-limits.md").read_text()
    points = re.findall(r"^\d+\. \*\*(.+?)\*\*", limits.partition("## What the guarantee says")[0], re.MULTILINE)
    assert len(points) == 10
    assert re.findall(r"<span>\d+\. <strong>(.+?)</strong>", page) == points
    assert "epsilon = 2 at delta = 1e-06, for one record" in page
    assert "weakest" in page
    assert "The first 8 synthetic records" in page
    assert "--" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).replace("var(--", "")


def _answers_as_the_function_does(owner: TestClient, studio: Studio, table: str) -> None:
    assert f'href="{studio.base}{table}/answers"' in owner.get(f"{table}/run").text
    assert "<textarea" in owner.get(f"{table}/answers").text
    out = studio.tables[table.rpartition("/")[2]].out
    assert out is not None
    for together in (False, True):
        form = {"questions": "share of sex\n\nmean(age)\n", **({"simultaneous": "yes"} if together else {})}
        page = owner.post(f"{table}/answers", data=form).text
        found = dpopt.answer(out, ["share of sex", "mean(age)"], simultaneous=together)
        rows: list[dict[Any, Any]] = found.to_dict("records")
        for row in rows:
            assert all(f">{one}<" in page for one in answer_in_words(row))
    wrong = owner.post(f"{table}/answers", data={"questions": "mean(<b>)"})
    assert wrong.status_code == 400
    assert "expected a column" in wrong.text
    assert "mean(&lt;b&gt;)" in wrong.text


def test_two_runs_at_once_are_two_and_a_stopped_one_goes_on(studio: Studio, owner: TestClient) -> None:
    tables = [opened(owner, name=f"{name}.csv") for name in ("first", "second")]
    for table in tables:
        reviewed(owner, studio, table)
        planned(owner, table)
        started(owner, table)
    first, second = (studio.tables[table.rpartition("/")[2]] for table in tables)
    assert "is running" in started(owner, tables[0]).text
    for _ in range(600):
        transcript = first.out / "transcript.jsonl" if first.out is not None else None
        if transcript is not None and transcript.exists() and transcript.stat().st_size:
            break
        time.sleep(0.02)
    owner.post(f"{tables[0]}/run", data={"do": "stop"})
    stopped = owner.get(f"{tables[0]}/run").text
    if first.state == "stopped":  # else it had ended before
        assert "If you continue, it is not paid again" in stopped
        before = transcript.read_bytes() if transcript is not None else b""
        owner.post(f"{tables[0]}/run", data={"do": "continue"})
        assert "You can publish" in ended(owner, tables[0])
        whole = before[: before.rfind(b"\n") + 1]
        assert first.out is not None
        assert (first.out / "transcript.jsonl").read_bytes().startswith(whole)
    assert "You can publish" in ended(owner, tables[1])
    assert first.out != second.out


def test_a_budget_file_is_spent_from_and_one_without_room_refuses(tmp_path: Path) -> None:
    import dpopt

    ledger = dpopt.BudgetLedger.create(tmp_path / "owner.budget", epsilon=2.5, delta=1e-5)
    studio = Studio(tmp_path / "releases", files=[ledger.path])
    owner = entered(studio)
    table = opened(owner)
    reviewed(owner, studio, table)
    for epsilon, said in (("2", "You can publish"), ("2", "Nothing has been spent")):
        planned(owner, table, epsilon=epsilon, budget=str(ledger.path))
        started(owner, table)
        assert said in ended(owner, table)
    assert len(ledger.contents().releases) == 1
    assert "was not named" in planned(owner, table, budget=str(tmp_path / "another.budget"))
    studio.close()


def test_forms_keep_what_they_do_not_show() -> None:
    drafted = {"name": "when", "type": "date", "format": "%d-%m-%Y", "edges": ["01-01-2020", "01-01-2021"]}
    form = ColumnForm.of("when", drafted)
    assert form.attribute(drafted) == drafted
    codes = {"name": "code", "type": "categorical", "values": [1, 2]}
    assert ColumnForm("code", "categorical", True, "1\n2\n3", "", False, "").attribute(codes)["values"] == [1, 2, 3]
    with pytest.raises(SchemaError, match="expected one of"):
        ColumnForm("code", "number", True, "", "", False, "").attribute(codes)
    assert rules_of("\n \r\n") == []
    with pytest.raises(PlanError, match="ends with one of"):
        ending_of("table")
    assert ending_of("A.CSV.GZ") == ".csv.gz"


def test_a_curve_has_places_on_the_picture_or_is_none() -> None:
    rows = [{"epsilon": e, "mean_error": 0.1 / e, "baseline": 0.2} for e in (0.5, 1, 2)]
    scales = scales_of(rows)
    assert scales is not None
    assert scales["ticks"] == [0.01, 0.1, 1.0]
    assert all(72 < scales["x"](row["epsilon"]) < 540 for row in rows)
    assert all(24 <= scales["y"](row[which]) <= 212 for row in rows for which in ("mean_error", "baseline"))
    assert scales_of([{**rows[0], "mean_error": None}, *rows[1:]]) is None


FIELDS_OF_A_RULE: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "if": (
        {"column-0": "age", "relation-0": "<", "value-0": "40", "column-1": "sex", "relation-1": "=", "value-1": "f"},
        {"name": "a name", "if": ["age", "<", 40], "then": ["sex", "=", "f"]},
    ),
    "missing": (
        {"column-0": "paid", "relation-0": "is missing", "column-1": "sex", "relation-1": "!=", "value-1": "m"},
        {"name": "a name", "if": ["paid", "is", "missing"], "then": ["sex", "!=", "m"]},
    ),
    "order": ({"column-0": "paid", "column-1": "age"}, {"name": "a name", "ordered": ["paid", "age"]}),
    "sum": (
        {"column-0": "age", "column-1": "paid", "terms": "owed\r\n"},
        {"name": "a name", "compare": [[[1, "paid"], [1, "owed"]], "=", "age"]},
    ),
    "determines": (
        {"column-0": "sex", "column-1": "code", "pairs": "f -> 1\r\nm -> missing\r\n"},
        {"name": "a name", "determines": ["sex", "code"], "mapping": [["f", 1], ["m", None]]},
    ),
}
"""Forms of a rule, what is sent, and the rule in the form of a schema file."""


@pytest.mark.parametrize("form", FIELDS_OF_A_RULE)
def test_the_fields_of_a_rule_are_a_rule_of_a_schema(form: str) -> None:
    numbers = {"type": "numeric", "edges": [0, 40, 80], "integer": True}
    listed = [
        {"name": "age", **numbers}, {"name": "owed", **numbers}, {"name": "paid", **numbers, "missing": ""},
        {"name": "sex", "type": "categorical", "values": ["f", "m"]},
        {"name": "code", "type": "categorical", "values": [1, 2], "missing": ""},
    ]  # fmt: skip
    schema = dpopt.Schema.from_json({"dpopt_schema": 1, "attributes": listed})
    sent, expected = FIELDS_OF_A_RULE[form]
    rule = rule_of({"rule": "if" if form == "missing" else form, "name": "a name", **sent}, schema)
    assert rule == expected
    assert len(dpopt.Schema.from_json({**schema.to_json(), "rules": [rule]}).rules) == 1


def test_a_rule_is_added_by_its_form_and_a_wrong_one_is_refused(studio: Studio, owner: TestClient) -> None:
    table = opened(owner)
    reviewed(owner, studio, table)
    fields = FIELDS_OF_A_RULE["if"][0]
    answer = sent(owner, f"{table}/rules", do="add", rule="if", rules="", **fields)
    assert str(answer.headers["location"]).endswith("/rules")
    page = html.unescape(owner.get(f"{table}/rules").text)
    assert '{"if": ["age", "<", 40], "then": ["sex", "=", "f"]}' in page
    assert "if age < 40" in page
    wrong = sent(owner, f"{table}/rules", do="add", rule="if", rules="", **fields | {"value-1": "no sex"})
    assert wrong.status_code == 400
    assert "no sex" in wrong.text
    unknown = sent(owner, f"{table}/rules", do="add", rule="none", rules="")
    assert unknown.status_code == 400
    schema = studio.tables[table.rpartition("/")[2]].schema
    assert schema is not None
    assert len(schema.rules) == 1


def test_each_column_has_a_chart_of_its_rows(studio: Studio, owner: TestClient) -> None:
    table = opened(owner, TABLE + "21,,no\n")
    page = owner.get(f"{table}/columns").text
    draft = studio.tables[table.rpartition("/")[2]].draft
    assert [sum(one.rows) for one in draft.columns] == [901] * 3
    assert page.count('<figure class="rows">') == 3
    assert "f: 450 rows" in page
    assert "missing: 1 rows" in page


def test_the_button_follows_the_advice_of_the_plan(studio: Studio, owner: TestClient) -> None:
    address = opened(owner)
    reviewed(owner, studio, address)
    table = studio.tables[address.rpartition("/")[2]]
    page = planned(
        owner, address, epsilon="1", n="100000", workload="marginals:2", figures="mean(age) by sex", target="sex"
    )
    assert "Figures that matter" in page
    assert "mean(age) by sex" in page
    assert table.advised == 0.3
    assert "Plan with epsilon 0.3, as advised" in page
    assert "Release with epsilon 1 anyway" in page
    assert 'name="target" value="sex"' in page
    page = planned(owner, address, epsilon="0.09", n="2000000")
    assert table.advised == 0.027
    page = planned(owner, address, epsilon="0.3", n="900")
    assert table.advised == 0.3
    assert "This plan is what the rule advises" in page
    assert "as advised" not in page
    page = planned(owner, address, epsilon="1", target="none of them")
    assert "none of them" in page
    assert table.plan is None
    assert table.trouble


def test_the_steps_are_saved_as_commands_and_as_a_notebook_that_run(
    studio: Studio, owner: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened(owner, TABLE.replace(HOSTILE, "it's"), name="it's.csv")
    assert owner.get(f"{table}/steps.sh").status_code == 400
    reviewed(owner, studio, table)
    planned(owner, table, workload="marginals:2", target="sex", figures="mean(age) by sex\nshare of sex")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it's.csv").write_text(TABLE.replace(HOSTILE, "it's"))
    for name in ("schema.json", "steps.sh", "steps.ipynb"):
        (tmp_path / name).write_text(owner.get(f"{table}/{name}").text)
    lines = (tmp_path / "steps.sh").read_text().splitlines()
    (tmp_path / "questions.txt").write_text(
        "\n".join(lines[lines.index("cat > questions.txt <<'END'") + 1 : lines.index("END")])
    )
    for line in (one for one in lines if one.startswith("dpopt ")):
        succeed(*shlex.split(line)[1:])
    assert (tmp_path / "owner.html").exists()
    written = read_json_object(tmp_path / "plan.json", "plan", PlanError)
    shutil.rmtree(tmp_path / "release")
    notebook: Any = read_json_object(tmp_path / "steps.ipynb", "notebook", PlanError)
    found: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], "cell", "exec"), found)  # what a notebook does
    found["plan"].save(tmp_path / "again.json")
    assert read_json_object(tmp_path / "again.json", "plan", PlanError) == written


def test_rows_that_bounds_on_those_of_a_person_drop_are_shown_where_the_bound_is_chosen(
    studio: Studio, owner: TestClient
) -> None:
    visits = "patient_id,smoker\n" + "".join(f"p{i % 300},{'yes' if i % 7 else 'no'}\n" for i in range(900))
    table = opened(owner, visits)
    reviewed(owner, studio, table)
    page = owner.get(f"{table}/plan").text
    assert "If <strong>patient_id</strong> names the person" in page
    rows = re.findall(
        r'<tr><td class="number">(.+?)</td><td class="number">(.+?)</td><td class="number">(.+?)</td></tr>', page
    )
    assert rows == [("1", "600 (67&nbsp;%)", "300"), ("2", "300 (33&nbsp;%)", "300"), ("3", "0 (0&nbsp;%)", "0")]


def test_an_address_admits_one_browser_and_the_file_another(studio: Studio) -> None:
    address = studio.address
    first = entered(studio)
    replayed = TestClient(studio.application(), base_url=f"http://127.0.0.1:{studio.port}").get(address)
    assert replayed.status_code == 403
    assert "set-cookie" not in replayed.headers
    assert stat.S_IMODE(studio.entrance.stat().st_mode) == 0o600
    assert address not in studio.entrance.read_text()
    assert studio.address in studio.entrance.read_text()
    second = entered(studio)
    mine, other = (client.cookies[f"dpopt_studio_{studio.port}"] for client in (first, second))
    assert mine != other
    assert first.get("/").status_code == second.get("/").status_code == 200


def test_a_cookie_is_for_a_path_that_nobody_else_knows(studio: Studio) -> None:
    client = TestClient(studio.application(), base_url=f"http://127.0.0.1:{studio.port}")
    given = client.get(studio.address).headers["set-cookie"].lower()
    assert len(studio.base) > 20
    assert f"path={studio.base.lower()}" in given
    assert "httponly" in given
    assert "samesite=strict" in given


@pytest.mark.parametrize("page", ["/tables", "/tables/{}/plan"])
def test_bytes_are_counted_as_they_arrive(
    studio: Studio, owner: TestClient, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page.format(opened(owner).rpartition("/")[2])
    monkeypatch.setattr("dpopt.studio.application.MOST_BYTES", 100_000)
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'

    def chunks() -> Iterator[bytes]:
        yield head
        for _ in range(300):
            yield b"1234567\n" * 128

    answer = owner.post(page, content=chunks(), headers={"content-type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 400
    assert "more than 100,000 bytes were uploaded" in answer.text


def test_a_plan_in_flight_does_not_overwrite_a_review(
    studio: Studio, owner: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dpopt

    address = opened(owner)
    reviewed(owner, studio, address)
    table, begun, go_on, made = studio.tables[address.rpartition("/")[2]], Event(), Event(), dpopt.plan

    def slow(*given: Any, **terms: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return made(*given, **terms)

    monkeypatch.setattr("dpopt.studio.tables.dpopt.plan", slow)
    with ThreadPoolExecutor(1) as threads:
        in_flight = threads.submit(planned, owner, address)
        assert begun.wait(60)
        reviewed(owner, studio, address, **{"kept-2": ""})
        go_on.set()
        assert "changed after this page was shown" in in_flight.result()
    assert table.plan is None
    assert table.schema is not None
    assert table.schema.names == ("age", "sex")
    assert 'name="do"' not in owner.get(f"{address}/plan").text


def test_what_was_changed_in_another_tab_is_looked_at_again(studio: Studio, owner: TestClient) -> None:
    address = opened(owner)
    old = {"generation": generation(owner, f"{address}/columns")}
    reviewed(owner, studio, address)
    planned(owner, address)
    shown = {"generation": generation(owner, f"{address}/plan")}
    table = studio.tables[address.rpartition("/")[2]]
    said = "changed after this page was shown"
    schema = table.schema
    late = {"reviewed": "y", "kept-0": "y", "kind-0": "numeric", "codes-0": "0\n200"}
    for page, form in (("rules", {"rules": ""}), ("run", {"do": "start"}), ("columns", late)):
        for params in (old, {}, {"generation": "-1"}, {"generation": "x"}):
            assert said in owner.post(f"{address}/{page}", params=params, data=form).text
    assert table.schema is schema
    planned(owner, address, epsilon="3")
    assert said in owner.post(f"{address}/run", params=shown, data={"do": "start"}).text
    assert table.process is None
    reviewed(owner, studio, address, **{"kept-2": ""})
    now = {"generation": str(table.generation)}
    assert "plan the release first" in owner.post(f"{address}/run", params=now, data={"do": "start"}).text
    assert "there is no release to continue" in owner.post(f"{address}/run", data={"do": "continue"}).text


def test_forms_show_every_key_and_take_it_back() -> None:
    drafted = {"name": "x", "type": "numeric", "edges": [0, 1], "decimals": 6, "missing": "", "other": 0.5}
    form = ColumnForm.of("x", drafted)
    assert form.missing == '""'
    assert form.more == "decimals: 6\nother: 0.5"
    changed = replace(form, more="decimals: 2", missing="", codes="0\n2")
    assert changed.attribute(drafted) == {"name": "x", "type": "numeric", "edges": [0, 2], "decimals": 2}
    assert replace(form, kind="categorical", codes="a").attribute(drafted) == {
        "name": "x", "type": "categorical", "values": ["a"], "missing": "",
    }  # fmt: skip
    for line in ("decimals", "edges: [1, 2]", "decimals: 1\ndecimals: 2", "decimals: many"):
        with pytest.raises(SchemaError, match="decimals|expected a key"):
            replace(form, more=line, codes="0\n3").attribute(drafted)


def test_fields_say_what_becomes_of_unfit_values_and_the_public_number(studio: Studio, owner: TestClient) -> None:
    table = opened(owner, TABLE + "300,f,no\n")
    reviewed(owner, studio, table, **{"kind-0": "numeric", "codes-0": "20\n40\n70", "whole-0": "yes"})
    page = planned(owner, table)
    for name, label in FIELDS.items():
        assert f'name="{name}"' in page
        assert label in page
    assert "--" not in " ".join(studio.tables[table.rpartition("/")[2]].draft.notes)
    started(owner, table)
    refused = ended(owner, table)
    assert "'clip' in the field 'How to handle values that do not fit'" in html.unescape(refused)
    assert "--on-invalid" not in refused
    page = planned(owner, table, n="", n0="900", on_invalid="clip")
    assert '<option value="clip" selected>' in page
    started(owner, table)
    assert "<h1>Released</h1>" in ended(owner, table)
    out = studio.tables[table.rpartition("/")[2]].out
    assert out is not None
    statement: Any = read_json_object(out / "release.json", "release", PlanError)
    assert statement["privacy"]["public_size"] == 900


@pytest.mark.parametrize(
    ("folder", "port", "said"),
    [("releases", 99_999, "port 99999 of"), ("releases", -5, "port -5 of"), ("file", 0, "cannot make"),
     ("file/releases", 0, "cannot make")],
)  # fmt: skip
def test_a_studio_that_could_not_work_does_not_start(folder: str, port: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DpoptError, match=said):
        Studio(tmp_path / folder, port)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("wrong", ["2.7", "1_0", "٣", "²", "-1", "1e3", "nan", "", "9" * 16])
@pytest.mark.parametrize("field", ["n", "n0", "rows_per_person"])
def test_numbers_of_records_are_whole_and_never_rounded(field: str, wrong: str) -> None:
    usual = {"n": "", "n0": "45,000", "person": "who", "rows_per_person": "3"}
    assert FormEntries(**usual).terms() == {"n0": 45000, "epsilon": 1, "person": "who", "rows_per_person": 3}
    others = {"n0": ""} if field == "n" else {}
    with pytest.raises(PlanError, match="number|give both"):
        FormEntries(**{**usual, **others, field: wrong}).terms()
