"""From a table behind its door to a released polynomial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.sanitizer_sums import CoefficientTable
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.releases.job import refuse_unreviewed
from dpopt.releases.ledgers import for_unit, open_account, reserved_ledger
from dpopt.releases.measured_size import is_measured, size_of, with_size_measured
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import EXACT, SanitizerPlan, plan_sanitizer
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def release_sanitizer(
    dataset: PrivateDataset,
    plan: SanitizerPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
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
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PrivateDataError
        If the attributes are others, under replace-one the number of records is, or the function of a family fails.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    curator = CountingCurator(
        CoefficientTable.of(dataset, plan.family),
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
    reading: TableReading | None = None,
    accept_draft: bool = False,
    progress: Progress | None = None,
    ledger: BudgetLedger | None = None,
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
        Under add-remove the public number of records that answers are shares of; measured with 1 % of the budget if left out.
        Under replace-one the number of records is public, and read from the table.
    sensitivity : str
        "exact", or "crude" for noise as the paper prints it.
    reading : TableReading, optional
        How the table is read.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used.
    progress : Progress, optional
    ledger : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    budget = for_unit(budget, reading)
    refuse_unreviewed(family.schema, accepted=accept_draft)
    # Refuses what cannot be planned before the table is read.
    tried = with_size_measured(budget) if is_measured(relation, size) else budget
    plan_sanitizer(family, tried, size=size or 1, relation=relation, sensitivity=sensitivity)
    (reading or AS_USUAL).check_relation(relation)
    account = open_account(ledger, "sanitizer", budget, relation, reading)
    with stage(told, "reading the table"):
        dataset = read_table(table, family.schema, reading)
    public = size_of(dataset, relation, size, budget, account=account)
    plan = plan_sanitizer(
        family, public.budget, size=public.number, relation=relation, sensitivity=sensitivity
    )
    return release_sanitizer(dataset, plan, progress=told, account=account)
