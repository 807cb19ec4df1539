"""Addresses and pages of the studio, and who may ask for them.

A token admits one browser once and is then replaced. It is printed, and stands in a file (0600) that leads the browser
here, so that no list of processes shows it. The browser keeps a cookie for a path that was drawn at random: a server on
another port of 127.0.0.1 gets it only if it knows the path. Host names are compared, and what changes something must
come from a page of this port.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import stat
import tempfile
import time
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Message

import dpopt
from dpopt.errors import FIELDS, DpoptError, PlanError, named_as_in
from dpopt.files.json_files import read_json_object
from dpopt.files.written_files import whole_file
from dpopt.html_pages.page import page
from dpopt.releases.folder_files import check_empty
from dpopt.studio.forms import KINDS, RELATIONS, ColumnForm, rule_of, scales_of
from dpopt.studio.tables import BESIDE, ENDINGS, ON_INVALID, STEPS, FormEntries, Table, ending_of, new_folder

MOST_BYTES = 4 * 1024**3
"""Of a request, counted as it arrives; larger tables are named when the studio is started."""
SECONDS_TO_END = 5.0
"""After a signal: then the private folder is removed and the process ends, whatever is still being computed."""
_PREFIX, _LOCK = "dpopt-studio-", ".dpopt-studio-lock"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_FORBIDDEN = (
    "This page is for the person who started the studio. An address works once: open the file that the studio named."
)


class Studio:
    """A running studio, on a port of 127.0.0.1 (0 takes a free one); releases stay in `folder`.

    Its pages may open `files`, tables and budget files, where they are; all others have to be sent. Raises PlanError if
    one is not there, the folder cannot be made, or the port cannot be used.
    """

    def __init__(self, folder: Path, port: int = 0, files: Sequence[Path] = ()) -> None:
        for file in files:
            if not file.is_file():
                raise PlanError(f"there is no file {str(file)!r}; name tables and budget files that exist")
        self.files = {str(file.resolve()): file.resolve() for file in files}
        self.folder = folder
        check_empty(new_folder(folder, "table"))
        self.tables: dict[str, Table] = {}
        self._socket = socket.socket()
        if os.name == "posix":  # on Windows, two processes could share the port
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(128)  # at once: nobody else can take the port before the browser asks
        except (OSError, OverflowError) as problem:
            self._socket.close()
            raise PlanError(
                f"port {port} of 127.0.0.1 cannot be used: {getattr(problem, 'strerror', problem)}; leave the port out to "
                f"take a free one"
            ) from problem
        self.port: int = self._socket.getsockname()[1]
        self._cookie = f"dpopt_studio_{self.port}"
        _sweep()
        self.private, self._lock = _private_folder()
        self.base = f"/{secrets.token_urlsafe(16)}"
        self._admitted: set[str] = set()
        self._renew()

    def _renew(self) -> None:
        """Draw another token, and write the file that leads a browser here with it."""
        self._token = secrets.token_urlsafe(24)
        with whole_file(self.entrance, private=True) as file:
            file.write(page("studio_enter.html", title="dpopt studio", to=self.address).encode())

    @property
    def entrance(self) -> Path:
        """The file, for its owner alone, that leads a browser to the studio; it can be opened again."""
        return self.private / "open.html"

    @property
    def address(self) -> str:
        """The address that admits the next browser, once."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    def serve(self, ready: Callable[[], object] = lambda: None) -> None:
        """Answer requests until Ctrl-C, SIGTERM or SIGHUP (a closed terminal); then stop and remove all private files.

        `ready` is called once signals are handled.
        """
        import uvicorn

        settings = uvicorn.Config(
            self.application(), log_level="critical", access_log=False, timeout_graceful_shutdown=2
        )
        server = uvicorn.Server(settings)

        def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # as `signal` calls it
            server.should_exit = True
            timer = Timer(SECONDS_TO_END, self._end_at_once)  # a draft or a plan cannot be interrupted
            timer.daemon = True
            timer.start()

        named = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"))
        watched = [one for one in named if one and signal.getsignal(one) is not signal.SIG_IGN]  # nohup
        before = {one: signal.signal(one, end) for one in watched}
        server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]  # else it dies before `close`
        try:
            ready()
            server.run(sockets=[self._socket])
        finally:
            self.close()
            for one, handler in before.items():
                signal.signal(one, handler)

    def _end_at_once(self) -> None:
        self.close()
        os._exit(0)

    def close(self) -> None:
        """Stop the running processes, and remove the private files."""
        for table in self.tables.values():
            table.stop()
        self._socket.close()
        _remove(self.private)
        self._lock.release()

    def application(self) -> Starlette:
        """Return the application, as a server takes it."""
        pages = [
            Route("/", self._guarded(self._start)),
            Route("/tables", self._guarded(self._open), methods=["POST"]),
            Route("/tables/{key}", self._of_a_table(self._forward)),
            Route("/tables/{key}/columns", self._of_a_table(self._columns), methods=["GET", "POST"]),
            Route("/tables/{key}/rules", self._of_a_table(self._rules), methods=["GET", "POST"]),
            Route("/tables/{key}/plan", self._of_a_table(self._plan), methods=["GET", "POST"]),
            Route("/tables/{key}/run", self._of_a_table(self._run), methods=["GET", "POST"]),
            Route("/tables/{key}/answers", self._of_a_table(self._answers), methods=["GET", "POST"]),
            Route("/tables/{key}/{what}", self._of_a_table(self._download)),
        ]
        return Starlette(routes=[Route("/", self._enter), Mount(self.base, routes=pages)])

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            response: Response = Response(_FORBIDDEN, 403)
            if self._is_from_here(request) and self._is_admitted(request):
                with named_as_in("studio"):
                    try:
                        response = await answer(Request(request.scope, _limited(request)))
                    except (DpoptError, OSError) as problem:  # of a full disk
                        response = self._page("studio_problem.html", problem=str(problem))
            response.headers.update(_HEADERS)
            return response

        return guarded

    def _of_a_table(
        self, answer: Callable[[Request, Table], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def found(request: Request) -> Response:
            table = self.tables.get(request.path_params["key"])
            if table is None:
                no_table = "there is no such table in this studio"
                return self._page("studio_problem.html", status=404, problem=no_table)
            return await answer(request, table)

        return self._guarded(found)

    def _is_from_here(self, request: Request) -> bool:
        """Return whether a request is for this host, and from one of its pages if it changes something."""
        own = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        changes = request.method != "GET"
        return request.headers.get("host") in own and not (
            changes and request.headers.get("origin") not in [f"http://{name}" for name in own]
        )

    def _is_admitted(self, request: Request) -> bool:
        given = request.cookies.get(self._cookie, "").encode()
        return any(secrets.compare_digest(given, one.encode()) for one in self._admitted)

    async def _enter(self, request: Request) -> Response:
        """Take the token for a cookie, and draw another token; the page leads on, as a cookie of this site asks for."""
        given = request.query_params.get("token", "")
        response: Response = Response(_FORBIDDEN, 403)
        if self._is_from_here(request) and secrets.compare_digest(given.encode(), self._token.encode()):
            self._renew()
            cookie = secrets.token_urlsafe(24)
            self._admitted.add(cookie)
            response = HTMLResponse(page("studio_enter.html", title="dpopt studio", to=f"{self.base}/"))
            response.set_cookie(self._cookie, cookie, path=self.base, httponly=True, samesite="strict")
        response.headers.update(_HEADERS)
        return response

    def _page(self, template: str, *, status: int | None = None, **values: Any) -> Response:
        """Return a page; one with a problem is refused."""
        usual = {"refresh": None, "problem": None, "title": "dpopt studio", "base": self.base, "table": None}
        values = {**usual, **values}
        return HTMLResponse(page(template, **values), status or (400 if values["problem"] else 200))

    async def _start(self, request: Request) -> Response:
        named = [name for name in self.files if name.lower().endswith(ENDINGS)]
        return self._page("studio_start.html", tables=list(self.tables.values()), folder=self.folder, named=named)

    async def _open(self, request: Request) -> Response:
        """Take a file that is sent or named, and draft its schema."""
        async with request.form(max_files=1, max_fields=10) as form:
            sent, named = form.get("file"), str(form.get("path") or "").strip()
            place = Path(tempfile.mkdtemp(dir=self.private))
            if isinstance(sent, UploadFile) and sent.filename:
                name, path = sent.filename, place / f"table{ending_of(sent.filename)}"
                await run_in_threadpool(_copy, sent, path)
            elif named:
                path = self._chosen(named)
                name = path.name
                ending_of(name)
            else:
                raise PlanError("no file was chosen")
        table = await run_in_threadpool(Table.opened, path, name, place)
        self.tables[table.key] = table
        return RedirectResponse(f"{self.base}/tables/{table.key}/columns", 303)

    def _chosen(self, named: str) -> Path:
        if named not in self.files:
            raise PlanError(
                f"{named!r} was not named when you started the studio; upload it, or start again with: dpopt studio FILE"
            )
        return self.files[named]

    async def _forward(self, request: Request, table: Table) -> Response:
        """Lead to the page where a table stands."""
        step = "run" if table.process is not None else "columns" if table.schema is None else "plan"
        return RedirectResponse(f"{self.base}/tables/{table.key}/{step}", 303)

    async def _columns(self, request: Request, table: Table) -> Response:
        columns, problem = table.columns(), None
        if request.method == "POST":
            async with request.form(max_fields=100_000) as form:
                columns = [ColumnForm.sent(i, one.name, form) for i, one in enumerate(table.draft.columns)]
                try:
                    if not form.get("reviewed"):
                        raise PlanError("confirm at the end of the page that you have reviewed the columns")
                    table.review(columns, _generation(request))
                    return RedirectResponse(f"{self.base}/tables/{table.key}/rules", 303)
                except DpoptError as error:
                    problem = str(error)
        return self._page(
            "studio_columns.html",
            table=table,
            problem=problem,
            columns=list(zip(columns, table.draft.columns, strict=True)),
            kinds=KINDS,
            drafted={one.name: one for one in table.columns(drafted=True)},
        )

    async def _rules(self, request: Request, table: Table) -> Response:
        """Take the rules; the button of a rule's form adds it to them, and comes back."""
        text, problem = table.rules, None
        if request.method == "POST":
            async with request.form() as form:
                text, seen = str(form.get("rules") or ""), _generation(request)
                accepted = {int(number) for number in map(str, form.getlist("accept")) if number.isdecimal()}
                adds, declared = form.get("do") == "add", table.schema or table.draft.schema
                try:
                    more = json.dumps(rule_of(form, declared), ensure_ascii=False) if adds else ""
                    await run_in_threadpool(table.rule, f"{text.rstrip()}\n{more}".strip(), seen, accepted)
                    step = "rules" if adds else "plan"
                    return RedirectResponse(f"{self.base}/tables/{table.key}/{step}", 303)
                except DpoptError as error:
                    problem = str(error)
        values: dict[str, Any] = {
            "text": text,
            "relations": RELATIONS,
            "columns": (table.schema or table.draft.schema).attributes,
        }
        return self._page("studio_rules.html", table=table, problem=problem, **values)

    async def _plan(self, request: Request, table: Table) -> Response:
        planning, problem = table.planning, table.trouble or None  # set in the other order
        if request.method == "POST":
            async with request.form() as form:
                asked = _entries(form)
            try:
                if asked.budget:
                    self._chosen(asked.budget)
                table.begin_plan(asked)
                return RedirectResponse(f"{self.base}/tables/{table.key}/plan", 303)
            except DpoptError as error:
                problem = str(error)
        return self._page(
            "studio_plan.html",
            refresh=1 if planning else None,
            planning=planning,
            table=table,
            problem=problem,
            asked=table.asked,
            fields=FIELDS,
            on_invalid=ON_INVALID,
            columns=[one.name for one in table.draft.columns],
            plan=table.plan,
            rows=table.curve,
            share=len(table.curve) / len(BESIDE),
            curve=None if table.plan is None else scales_of(table.curve),
            budgets=[name for name in self.files if not name.lower().endswith(ENDINGS)],
        )

    async def _run(self, request: Request, table: Table) -> Response:
        """Start, stop or continue a release, or show how far it is; a page that is loaded anew shows the same run."""
        if request.method == "POST":
            async with request.form() as form:
                what, seen = str(form.get("do")), _generation(request)
            if what == "stop":
                await run_in_threadpool(table.stop)
            else:
                await run_in_threadpool(table.start, self.folder, seen, resumed=what == "continue")
            return RedirectResponse(f"{self.base}/tables/{table.key}/run", 303)
        if table.process is None:
            return RedirectResponse(f"{self.base}/tables/{table.key}", 303)
        state = table.state  # once: it may change while the page is made
        shown: dict[str, Any] = {"progress": table.progress(), "summary": None}
        if state == "done":
            shown["summary"] = read_json_object(table.place / "summary.json", "summary", PlanError)
        return self._page(
            "studio_run.html", table=table, state=state, refresh=1 if state == "running" else None, **shown
        )

    async def _answers(self, request: Request, table: Table) -> Response:
        """Answer questions to a release that has ended."""
        if table.state != "done" or table.out is None:
            return RedirectResponse(f"{self.base}/tables/{table.key}", 303)
        async with request.form() as form:
            text, together = str(form.get("questions") or ""), bool(form.get("simultaneous"))
        asked = [one.strip() for one in text.splitlines() if one.strip()]
        shown: dict[str, Any] = {"text": text, "together": together}
        try:
            found = await run_in_threadpool(dpopt.answer, table.out, asked, simultaneous=together)
            return self._page("studio_answers.html", table=table, rows=found.to_dict("records"), **shown)
        except DpoptError as error:
            return self._page("studio_answers.html", table=table, rows=[], problem=str(error), **shown)

    async def _download(self, request: Request, table: Table) -> Response:
        what = request.path_params["what"]
        if what in {"schema.json", *STEPS}:
            return Response(table.steps(what), headers={"content-disposition": f'attachment; filename="{what}"'})
        if table.state == "done" and table.out is not None:
            name = table.out.name
            if what in {"owner.html", "public.html"}:
                return FileResponse(table.place / what)
            if what == "release.zip":
                packed = table.place / what
                await run_in_threadpool(_pack, table.out, table.place / "public.html", packed)
                return FileResponse(packed, filename=f"{name}.zip")
            records = next((one for one in table.out.glob("synthetic.*") if one.name == what), None)
            if records is not None:
                return FileResponse(records, filename=f"{name}-{records.name}")
        return self._page("studio_problem.html", status=404, table=table, problem="there is no such page")


def _limited(request: Request) -> Callable[[], Awaitable[Message]]:
    """Return a receiver of requests that refuses one which is too long by the bytes that came, whatever it declared."""
    come = 0

    async def receive() -> Message:
        nonlocal come
        message = await request.receive()
        come += len(message.get("body", b""))
        if come > MOST_BYTES:
            raise PlanError(
                f"more than {MOST_BYTES:,} bytes were uploaded; stop the studio, and start it with the table: dpopt "
                f"studio TABLE"
            )
        return message

    return receive


def _private_folder() -> tuple[Path, FileLock]:
    """Return a new folder for this user alone, locked as long as this process lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = FileLock(folder / _LOCK, mode=0o600)
        with suppress(OSError):  # another studio that starts has taken it for one that was left
            lock.acquire()
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()


def _sweep() -> None:
    """Remove the private folders of this user's studios that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, Timeout):
            found = folder.lstat()
            mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            ours = (folder / _LOCK).is_file() or not any(folder.iterdir())  # a user may name folders so, too
            if mine and stat.S_ISDIR(found.st_mode) and ours:
                with FileLock(folder / _LOCK, timeout=0, mode=0o600):
                    _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, though something may still be written into it."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


def _copy(sent: UploadFile, path: Path) -> None:
    with whole_file(path, private=True) as file:
        shutil.copyfileobj(sent.file, file, 2**20)


def _pack(folder: Path, report: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for one in sorted(folder.iterdir()):
            file.write(one, f"{folder.name}/{one.name}")
        file.write(report, f"{folder.name}/report.html")


def _entries(form: FormData) -> FormEntries:
    return FormEntries(**{one.name: str(form.get(one.name) or "") for one in fields(FormEntries)})


def _generation(request: Request) -> int:
    """Return which columns, rules and plan a page showed that sent this form; -1 if it does not say."""
    text = str(request.query_params.get("generation") or "")
    return int(text) if text.isascii() and text.isdigit() else -1
