"""From a table behind its door to a released polynomial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release import refuse_unreviewed
from dpopt.algorithms.sanitizers.sanitized import SanitizedPolynomial
from dpopt.algorithms.sanitizers.sanitizer_plan import EXACT, SanitizerPlan, plan_sanitizer
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.dataset import PrivateDataset
from dpopt.private.noise import Noise
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.public_facts import public_size
from dpopt.private.read_table import read_table
from dpopt.private.sanitizer_curator import SanitizerCurator
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.open_table import AnyTable


def release_sanitizer(
    dataset: PrivateDataset,
    plan: SanitizerPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
) -> SanitizedPolynomial:
    """Measure what a plan says and return the noisy polynomial.

    p_x for each record x; p_D = (1 / n) sum_x p_x; noise on each of its N coefficients (Thaler, Ullman and Vadhan 2012, "The
    sanitizer"). It is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    dataset : PrivateDataset
        The records, with the attributes of the plan's family. Private.
    plan : SanitizerPlan
    noise : Noise, optional
        Anything but the default marks the release as not private.
    progress : Progress, optional

    Raises
    ------
    PrivateDataError
        If the attributes are others, under replace-one the number of records is, or the function of a family fails.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = Ledger(plan.budget, plan.relation)
    ledger.reserve(plan.charges())
    curator = SanitizerCurator(
        dataset,
        plan.family,
        ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=noise,
        progress=told.share,
    )
    with stage(told, "measuring"):
        noisy = curator.measure(plan.figures.measurement()).values
    return SanitizedPolynomial(plan.figures, noisy, privacy_statement(plan, ledger))


def sanitize_table(
    table: AnyTable,
    family: PolynomialFamily,
    budget: Budget,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    sensitivity: str = EXACT,
    on_unknown: str = "error",
    accept_draft: bool = False,
    progress: Progress | None = None,
) -> SanitizedPolynomial:
    """Release the polynomial of a table by the generic sanitizer.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    family : SymmetricFamily, TableFamily or FunctionFamily
        Its schema names the columns that are read.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    relation : NeighbouringRelation
    size : int, optional
        Under add-remove the public number of records that answers are shares of; needed there. Under replace-one the number of
        records is public, and read from the table.
    sensitivity : str
        "exact", or "crude" for noise as the paper prints it.
    on_unknown, accept_draft :
        As for `dpopt release`.
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    refuse_unreviewed(family.schema, accepted=accept_draft)
    if relation is NeighbouringRelation.ADD_REMOVE and size is None:
        raise PlanError(
            "answers are shares of a fixed public number of records near the size of the table, which does not depend on it: "
            "give it (size)"
        )
    # Refuses what cannot be planned before the table is read.
    plan_sanitizer(family, budget, size=size or 1, relation=relation, sensitivity=sensitivity)
    with stage(told, "reading the table"):
        dataset = read_table(table, family.schema, on_unknown=parse_on_unknown(on_unknown))
    public = public_size(dataset, relation, size)
    plan = plan_sanitizer(family, budget, size=public, relation=relation, sensitivity=sensitivity)
    return release_sanitizer(dataset, plan, progress=told)
