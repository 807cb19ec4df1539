"""The factors of least largest variance in CVXPY. Knows nothing of dpopt; labels CC-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


def cvxpy_model(steps: int) -> cp.Problem:
    """Return the problem: X = C'C for what is measured, V the covariance of the counts of prefixes."""
    import cvxpy as cp
    import numpy as np

    both = cp.Variable((2 * steps, 2 * steps), name="both", PSD=True)  # CC-4
    worst, diagonal = cp.Variable(name="v"), cp.diag(both)
    measured, answered = diagonal[:steps] <= 1, diagonal[steps:] <= worst  # CC-2, CC-3
    return cp.Problem(cp.Minimize(worst), [measured, answered, both[steps:, :steps] == np.tri(steps)])  # CC-1


EXAMPLES = [{"steps": 2}, {"steps": 3}]  # the worked example and the exercise
