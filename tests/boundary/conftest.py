"""What all tests of the boundary share."""

from __future__ import annotations

import pytest

from tests import exact_loss
from tests.boundary.defects import persons


@pytest.fixture(autouse=True)
def add_up_charges_anew() -> None:
    """Forget what charges were found to cost: the next test may plant a defect in how they are added up."""
    exact_loss.charged.cache_clear()
    persons.charged.cache_clear()
