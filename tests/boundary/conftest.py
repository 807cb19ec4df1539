"""What all tests of the boundary share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def wait_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be flushed to the disk by the system when it likes: runs are killed here, machines are not.

    Tests that count flushes, or kill a run at one, put their own in place of this one.
    """
    monkeypatch.setattr(os, "fsync", lambda file: None)
