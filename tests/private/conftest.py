"""Workers of Dask that the tests of this room share: starting them takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpopt.private.engines.dask_workers import DaskWorkers


@pytest.fixture(scope="session")
def workers() -> Iterator[DaskWorkers]:
    """Start a single worker for all files that do not kill any."""
    started = DaskWorkers.start(1)
    yield started
    started.close()
