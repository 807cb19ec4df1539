"""Addresses and pages of the studio, and who may ask for them.

Only whoever knows the token that was printed gets in, from this machine: the token is exchanged for a cookie that no other site
can use, the name of the host is compared (a foreign name may lead here), and what changes something must come from these pages.
Pages hold no scripts, and ask for nothing from anywhere else.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import tempfile
import zipfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dpopt.errors import DpoptError, PlanError
from dpopt.files.written_files import whole_file
from dpopt.html_pages.page import page
from dpopt.studio.forms import KINDS, ColumnForm, Curve
from dpopt.studio.tables import Asked, Table, ending_of

MOST_BYTES = 4 * 1024**3
"""Of a file that is sent; larger ones are named by their path."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_FORBIDDEN = "This page is for whoever started the studio. Open the address that it printed."


class Studio:
    """A running studio.

    Parameters
    ----------
    folder : Path
        Where releases are put; they stay.
    port : int
        Of 127.0.0.1; 0 takes one that is free.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.private = Path(tempfile.mkdtemp(prefix="dpopt-studio-"))  # for this user alone
        self.tables: dict[str, Table] = {}
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError as problem:
            self.close()
            raise PlanError(
                f"port {port} of 127.0.0.1 cannot be used: {problem.strerror}; leave the port out to take a free one"
            ) from problem
        self.port: int = self._socket.getsockname()[1]
        self._token, self._cookie = secrets.token_urlsafe(24), secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """What to open in a browser; whoever knows it gets in."""
        return f"http://127.0.0.1:{self.port}/?token={self._token}"

    def serve(self) -> None:
        """Answer requests until Ctrl-C; then stop all releases and remove the tables that were sent."""
        import uvicorn

        try:
            settings = uvicorn.Config(
                self.application(), log_level="critical", access_log=False, timeout_graceful_shutdown=2
            )
            uvicorn.Server(settings).run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop what runs, and remove what is private."""
        for table in self.tables.values():
            table.stop()
        self._socket.close()
        shutil.rmtree(self.private, ignore_errors=True)

    def application(self) -> Starlette:
        """Return the application, as a server takes it."""
        routes = [
            Route("/", self._guarded(self._start)),
            Route("/tables", self._guarded(self._open), methods=["POST"]),
            Route("/tables/{key}", self._of_a_table(self._forward)),
            Route("/tables/{key}/columns", self._of_a_table(self._columns), methods=["GET", "POST"]),
            Route("/tables/{key}/rules", self._of_a_table(self._rules), methods=["GET", "POST"]),
            Route("/tables/{key}/plan", self._of_a_table(self._plan), methods=["GET", "POST"]),
            Route("/tables/{key}/run", self._of_a_table(self._run), methods=["GET", "POST"]),
            Route("/tables/{key}/{what}", self._of_a_table(self._download)),
        ]
        return Starlette(routes=routes)

    def _guarded(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            response = self._refusal(request) or self._admission(request)
            if response is None:
                try:
                    response = await answer(request)
                except DpoptError as problem:
                    response = self._page("studio_problem.html", status=400, problem=str(problem))
            response.headers.update(_HEADERS)
            return response

        return guarded

    def _of_a_table(
        self, answer: Callable[[Request, Table], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def found(request: Request) -> Response:
            table = self.tables.get(request.path_params["key"])
            if table is None:
                return self._page(
                    "studio_problem.html", status=404, problem="there is no such table in this studio"
                )
            return await answer(request, table)

        return self._guarded(found)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that is not from these pages, None for one that is."""
        own = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        if request.headers.get("host") not in own:
            return Response(_FORBIDDEN, 403)
        if request.method != "GET" and request.headers.get("origin") not in [
            f"http://{name}" for name in own
        ]:
            return Response(_FORBIDDEN, 403)
        return None

    def _admission(self, request: Request) -> Response | None:
        """Return a cookie for the token, a refusal for whoever has neither, None for whoever has the cookie."""
        name = f"dpopt_studio_{self.port}"
        token = request.query_params.get("token")
        if token is not None and secrets.compare_digest(token.encode(), self._token.encode()):
            response = RedirectResponse("/", 303)
            response.set_cookie(name, self._cookie, httponly=True, samesite="strict")
            return response
        given = request.cookies.get(name, "")
        return (
            None
            if secrets.compare_digest(given.encode(), self._cookie.encode())
            else Response(_FORBIDDEN, 403)
        )

    def _page(
        self, template: str, *, status: int = 200, table: Table | None = None, **values: Any
    ) -> Response:
        values = {"refresh": None, "problem": None, "title": "dpopt studio", **values}
        return HTMLResponse(page(template, table=table, **values), status)

    async def _start(self, request: Request) -> Response:
        return self._page("studio_start.html", tables=list(self.tables.values()), folder=self.folder)

    async def _open(self, request: Request) -> Response:
        """Take a file that is sent or named, and draft its schema."""
        if int(request.headers.get("content-length") or 0) > MOST_BYTES:
            raise PlanError("the file has more than 4 GB; name its path in place of sending it")
        async with request.form(max_files=1, max_fields=10) as form:
            sent, named = form.get("file"), str(form.get("path") or "").strip()
            place = Path(tempfile.mkdtemp(dir=self.private))
            if isinstance(sent, UploadFile) and sent.filename:
                name, path = sent.filename, place / f"table{ending_of(sent.filename)}"
                await run_in_threadpool(_copy, sent, path)
            elif named:
                name, path = Path(named).name, _file_named(named)
            else:
                raise PlanError("no file was chosen")
        table = await run_in_threadpool(Table.opened, path, name, place)
        self.tables[table.key] = table
        return RedirectResponse(f"/tables/{table.key}/columns", 303)

    async def _forward(self, request: Request, table: Table) -> Response:
        """Lead to the page where a table stands."""
        step = "run" if table.process is not None else "columns" if table.schema is None else "plan"
        return RedirectResponse(f"/tables/{table.key}/{step}", 303)

    async def _columns(self, request: Request, table: Table) -> Response:
        columns, problem = table.columns(), None
        if request.method == "POST":
            async with request.form(max_fields=100_000) as form:
                columns = [ColumnForm.sent(i, one.name, form) for i, one in enumerate(table.draft.columns)]
                try:
                    if not form.get("reviewed"):
                        raise PlanError("confirm at the end of the page that you have reviewed the columns")
                    table.review(columns)
                    return RedirectResponse(f"/tables/{table.key}/rules", 303)
                except DpoptError as error:
                    problem = str(error)
        return self._page(
            "studio_columns.html",
            table=table,
            status=200 if problem is None else 400,
            problem=problem,
            columns=list(zip(columns, table.draft.columns, strict=True)),
            kinds=KINDS,
        )

    async def _rules(self, request: Request, table: Table) -> Response:
        text, problem = table.rules, None
        if request.method == "POST":
            async with request.form() as form:
                text = str(form.get("rules") or "")
                accepted = {int(number) for number in form.getlist("accept") if str(number).isdecimal()}
            try:
                await run_in_threadpool(table.rule, text, accepted)
                return RedirectResponse(f"/tables/{table.key}/plan", 303)
            except DpoptError as error:
                problem = str(error)
        status = 200 if problem is None else 400
        return self._page("studio_rules.html", table=table, status=status, problem=problem, text=text)

    async def _plan(self, request: Request, table: Table) -> Response:
        problem = None
        if request.method == "POST":
            async with request.form() as form:
                asked = _asked(form)
            try:
                await run_in_threadpool(table.make_plan, asked)
            except DpoptError as error:
                problem = str(error)
        return self._page(
            "studio_plan.html",
            table=table,
            status=200 if problem is None else 400,
            problem=problem,
            asked=table.asked,
            plan=table.plan,
            rows=table.curve,
            curve=None if table.plan is None else Curve.of(table.curve),
        )

    async def _run(self, request: Request, table: Table) -> Response:
        """Start, stop or continue a release, or show how far it is; a page that is loaded anew shows the same run."""
        if request.method == "POST":
            async with request.form() as form:
                what = str(form.get("do"))
            if what == "stop":
                await run_in_threadpool(table.stop)
            else:
                self.folder.mkdir(parents=True, exist_ok=True)
                await run_in_threadpool(table.start, self.folder, resumed=what == "continue")
            return RedirectResponse(f"/tables/{table.key}/run", 303)
        if table.process is None:
            return RedirectResponse(f"/tables/{table.key}", 303)
        return self._page(
            "studio_run.html",
            table=table,
            refresh=1 if table.state == "running" else None,
            progress=table.progress(),
        )

    async def _download(self, request: Request, table: Table) -> Response:
        what = request.path_params["what"]
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


def _file_named(named: str) -> Path:
    """Return the file that was named.

    Raises PlanError if there is none, or it is not read by its ending.
    """
    ending_of(named)
    with suppress(
        OSError, RuntimeError
    ):  # names that are too long, folders of others, homes that are not known
        path = Path(named).expanduser()
        if path.is_file():
            return path
    raise PlanError(f"there is no file {named!r} that can be read; choose one, or type its whole path")


def _copy(sent: UploadFile, path: Path) -> None:
    with whole_file(path, private=True) as file:
        shutil.copyfileobj(sent.file, file, 2**20)


def _pack(folder: Path, report: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for one in sorted(folder.iterdir()):
            file.write(one, f"{folder.name}/{one.name}")
        file.write(report, f"{folder.name}/report.html")


def _asked(form: FormData) -> Asked:
    names = ("n", "epsilon", "delta", "workload", "person", "rows_per_person", "budget")
    return Asked(**{name: str(form.get(name) or "") for name in names})
