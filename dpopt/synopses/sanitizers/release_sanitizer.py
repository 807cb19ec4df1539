"""From a table behind its door to a released polynomial."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Unpack

from dpopt.private.measurements.sanitizer_sums import CoefficientTable
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.synopses.release import Request, RequestKeywords, Reserved, Running
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan, plan_sanitizer

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def sanitize(
    table: AnyTable, family: PolynomialFamily, *, n0: int | None = None, **keywords: Unpack[RequestKeywords]
) -> SanitizedPolynomial:
    """Release the polynomial of a table by the generic sanitizer, which answers any query of a family.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    family : SymmetricFamily, TableFamily or FunctionFamily
        Its schema names the columns that are read.
    n0 : int, optional
        Under add-remove the public number of records that answers are shares of; measured with 1 % of the budget if
        left out. Under replace the number of records is public, and read off the table.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`.

    Returns
    -------
    SanitizedPolynomial
        Answers by `answer([0, 1])`, the variables that are 1, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> from dpopt.polynomials import Target, best_polynomial
    >>> bits = [dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in ("smoker", "member")]
    >>> either = Target.disjunction(2)
    >>> family = dpopt.symmetric_family(dpopt.Schema(tuple(bits)), either, best_polynomial(either, 2).polynomial)
    >>> table = pandas.DataFrame({"smoker": [True, False] * 300, "member": [True, True, False] * 200})
    >>> released = dpopt.sanitize(table, family, n0=600, epsilon=5)
    >>> one = released.answer([0, 1], confidence=0.9999)
    >>> abs(one.value - 5 / 6) <= one.bound
    True
    """
    request = Request(**keywords)
    request.declared(family.schema, n0)
    return request.release(
        "sanitizer",
        table,
        partial(plan_sanitizer, family, relation=request.relation),
        lambda: request.table(table, family.schema),
        release_sanitizer,
        size=n0,
        margin=0.0,
    )


def release_sanitizer(dataset: PrivateDataset, plan: SanitizerPlan, **how: Unpack[Running]) -> SanitizedPolynomial:
    """Make the measurements of a plan and return the noisy polynomial, as `dpopt.synopses.release.Measure` says.

    p_x for each record x, which has the attributes of the plan's family; p_D = (1 / n) sum_x p_x; noise on each of its
    N coefficients (Thaler, Ullman and Vadhan 2012, "The sanitizer"). `PrivateDataError` if the function of a family
    fails, too.
    """
    run = Reserved.of(plan, how)
    held = CoefficientTable.of(dataset, plan.family)
    (noisy,) = run.measured(held, [plan.figures.measurement()])
    return SanitizedPolynomial(plan.figures, noisy, run.privacy())
