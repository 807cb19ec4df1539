"""What all tests of the boundary share."""

from __future__ import annotations

import os

import pytest

from tests import exact_loss
from tests.boundary.defects import persons


@pytest.fixture(autouse=True)
def wait_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be flushed to the disk by the system when it likes: runs are killed here, machines are not.

    Tests that count flushes, or kill a run at one, put their own in place of this one.
    """
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture(autouse=True)
def add_up_charges_anew() -> None:
    """Forget what charges were found to cost: the next test may plant a defect in how they are added up."""
    exact_loss.charged.cache_clear()
    persons.charged.cache_clear()
