"""Processes of a Dask cluster, started here or found at an address; tasks over parts, done again where they are lost.

The only file that imports Dask.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from dpopt.errors import DpoptError, PlanError

if TYPE_CHECKING:
    from distributed import Client, Future

_Part = TypeVar("_Part")
_Report = TypeVar("_Report")

START_SECONDS = 60  # until the first worker answers
ATTEMPTS = 5  # at a part whose workers were lost, or whose queries were lost with them
PAUSE_SECONDS = 1.0  # between two attempts
SILENT = 50  # logging.CRITICAL: workers say nothing
_LOSSES = 10  # of workers with the same task before Dask gives the task up

# Only this user's processes can talk to the workers started here, and nothing that they hold goes to a disk or a web page.
_LOCAL_SETTINGS = {
    "distributed.scheduler.allowed-failures": _LOSSES,
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.active-memory-manager.start": False,  # it would drop the copies of queries that workers hold
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    # Dask would have memory given back after every array, and each new one cleared by the system: a quarter of the time.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # Dask looks after its event loops 50 times a second; with more workers than cores that takes a tenth of a core.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "5s",
}


class DaskWorkers:
    """Workers to which tasks are given; they end with this object if they were started for it."""

    def __init__(self, client: Client, close: Callable[[], None]) -> None:
        self._client = client
        self._attempts = itertools.count()
        # Also at the end of the process, before its threads end.
        self.close = weakref.finalize(self, close)

    @classmethod
    def start(cls, number: int) -> DaskWorkers:
        """Start worker processes of one thread each on this machine.

        They listen on the loopback address alone, and every connection is encrypted with a key that is made here and
        never written to a file that stays: without it, any user of the machine could give them tasks, that is, code.
        """
        _import_dask()
        import dask
        from distributed import Client, Nanny, Scheduler, SpecCluster
        from distributed.security import Security

        security = Security.temporary()
        scratch = TemporaryDirectory(prefix="dpopt-dask-", ignore_cleanup_errors=True)  # for Dask's locks: no data
        shared = {
            "host": "127.0.0.1",
            "protocol": "tls://",
            "security": security,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
        }
        try:
            with dask.config.set({**_LOCAL_SETTINGS, "temporary-directory": scratch.name}):
                worker = {
                    "cls": Nanny,
                    "options": {
                        **shared,
                        "nthreads": 1,
                        "memory_limit": 0,
                        "silence_logs": SILENT,
                        "death_timeout": START_SECONDS,
                        "config": deepcopy(dask.config.config),  # for a process that takes a lost one's place, too
                    },
                }
                cluster = SpecCluster(
                    workers=dict.fromkeys(range(number), worker),
                    scheduler={"cls": Scheduler, "options": {**shared, "port": 0}},
                    security=security,
                    silence_logs=SILENT,
                )
                client = Client(cluster, set_as_default=False, timeout=START_SECONDS)
        except (OSError, RuntimeError) as problem:
            raise DpoptError(
                f"the {number} worker processes did not start ({type(problem).__name__}). A script that uses them "
                f"needs `if __name__ == '__main__':` around its calls, because each process reads the script again"
            ) from None

        def close() -> None:
            client.close()
            cluster.close()
            scratch.cleanup()

        return cls(client, close)

    @classmethod
    def connect(cls, address: str) -> DaskWorkers:
        """Use the workers of a cluster that runs already. TLS is set up in Dask's own configuration.

        Raises DpoptError if the libraries are missing, or nothing answers there.
        """
        _import_dask()
        from distributed import Client

        try:
            client = Client(address, set_as_default=False, timeout=START_SECONDS)
            client.wait_for_workers(1, timeout=START_SECONDS)
        except (OSError, ValueError, RuntimeError, TypeError) as problem:
            raise DpoptError(
                f"no Dask cluster with workers answers at {address!r} ({type(problem).__name__}); check the address, "
                f"and for tls:// the certificates in Dask's configuration (a cluster without encryption is named by "
                f"dask:tcp://HOST:PORT)"
            ) from None
        return cls(client, client.close)

    def slots(self) -> int:
        """Return how many tasks run at the same time."""
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def run(self, task: Callable[..., _Report], parts: Sequence[_Part], *shared: Any) -> Iterator[tuple[int, _Report]]:
        """Yield (number of the part, result of its task), in the order in which tasks end.

        `task(part, *shared)` runs once for every part, and again where its worker was lost. `shared` is sent to the
        workers once, not with every task.
        """
        left = dict(enumerate(parts))
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_SECONDS)  # until the scheduler knows which workers are gone
            for number, report in self._attempt(task, left, shared):
                del left[number]
                yield number, report
            if not left:
                return
        raise DpoptError(
            f"workers were lost {ATTEMPTS} times or more while they read the same part of the table; do they have "
            f"enough memory? Use more and smaller row groups, or fewer workers"
        )

    def _attempt(
        self, task: Callable[..., _Report], parts: dict[int, _Part], shared: tuple[Any, ...]
    ) -> Iterator[tuple[int, _Report]]:
        """Submit the tasks and yield their results; lost parts are left out."""
        from distributed import as_completed

        self._wait_for_workers()
        # Names of tasks are seen in logs and on dashboards: they say nothing. No other client of the cluster has them.
        name = f"dpopt-{self._client.id}-{next(self._attempts)}"
        held: list[Future[Any]] = []
        futures: dict[Future[_Report], int] = {}
        try:
            held = [self._client.scatter(item, broadcast=True, hash=False) for item in shared]
            for number, part in list(parts.items()):
                future = self._client.submit(task, part, *held, key=f"{name}-{number}", pure=False)
                futures[future] = number
            for future in as_completed(futures, loop=self._client.loop):
                if future.status == "finished":
                    report = future.result()
                    number = futures.pop(future)
                    future.release()
                    yield number, report
                else:
                    self._lost_or_refused(future)
        except OSError:  # a worker is gone, and the scheduler does not know it yet; or the scheduler is gone
            self._wait_for_workers()
        finally:
            if self._client.status == "running":
                self._client.cancel([*futures, *held], force=True)

    def _wait_for_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=START_SECONDS)
        except (OSError, RuntimeError) as problem:
            raise DpoptError(
                f"the Dask cluster does not answer any more, or has no workers ({type(problem).__name__}); nothing was "
                f"counted"
            ) from None

    def _lost_or_refused(self, future: Future[Any]) -> None:
        """Return if a task was lost with its workers; raise if it could not be run at all."""
        from distributed import KilledWorker

        if future.status == "cancelled":
            return
        problem = future.exception()
        if problem is None or isinstance(problem, KilledWorker):  # None: lost when it was done, and done again since
            return
        raise DpoptError(
            f"a worker could not run the task ({type(problem).__name__}); install the same versions of dpopt and Dask "
            f"on all workers as here"
        )


def _import_dask() -> None:
    """Refuse where the libraries are not installed."""
    try:
        import cryptography  # noqa: F401  # Dask makes its keys with it
        import dask  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as problem:
        raise PlanError(
            f"the engine dask needs libraries that are not installed ({problem.name}): pip install 'dpopt[dask]'"
        ) from None
