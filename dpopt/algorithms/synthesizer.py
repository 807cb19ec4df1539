"""A release in the manner of scikit-learn: parameters first, then the table, then rows. scikit-learn is not needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from dpopt.algorithms.release import release
from dpopt.errors import PlanError
from dpopt.html_pages.shown import Shown
from dpopt.queries.workloads.workload import Workload
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from dpopt.algorithms.synthetic_release import SyntheticRelease
    from dpopt.private.readers.open_table import AnyTable
    from dpopt.private.readers.read_binary_table import AnyBinaryTable


class Synthesizer(Shown):
    """Fits synthetic records to a table under differential privacy, and gives any number of rows.

    Each `fit` is a release of its own and spends its budget again; `sample` spends nothing.

    Parameters
    ----------
    schema : Schema or path
        Declared attributes. Public.
    workload : Workload or str, optional
        The queries that the synthetic records should answer well. Public.
    **terms
        Every other keyword of `dpopt.release`: epsilon, delta, algorithm, budget, ...

    Attributes
    ----------
    release_ : SyntheticRelease
        The release of the last `fit`.

    Examples
    --------
    >>> import dpopt, pandas
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False, False, False] * 500})
    >>> made = dpopt.Synthesizer(schema, "marginals:1", epsilon=1).fit(table)
    >>> len(made.sample(100)), bool(10 < made.sample(100)["smoker"].sum() < 40)
    (100, True)
    """

    def __init__(
        self, schema: Schema | str | os.PathLike[str], workload: Workload | str | None = None, **terms: Any
    ) -> None:
        self.schema, self.workload, self.terms = schema, workload, terms

    def _said(self) -> list[str]:
        fitted = [repr(self.release_)] if hasattr(self, "release_") else []
        return [f"{name}={value!r}" for name, value in self.get_params().items()] + fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  as scikit-learn calls it
        """Return the parameters by name.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).get_params()
        {'schema': 'schema.json', 'workload': None, 'epsilon': 1}
        """
        return {"schema": self.schema, "workload": self.workload, **self.terms}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; `release_` stays.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).set_params(epsilon=2).get_params()["epsilon"]
        2
        """
        self.__init__(**{**self.get_params(), **params})  # type: ignore[misc]
        return self

    def fit(self, table: AnyTable | AnyBinaryTable, y: object = None) -> Self:
        """Release a private table, as `dpopt.release` reads, pays and refuses it. `y` is not used.

        Examples
        --------
        >>> import numpy
        >>> terms = {"epsilon": 1, "neighbours": "replace", "algorithm": "projection"}
        >>> made = Synthesizer(Schema.binary(2), "marginals:1", **terms).fit(numpy.eye(2))
        >>> made.release_.chosen["algorithm"]
        'projection'
        """
        self.release_: SyntheticRelease = release(table, self.schema, self.workload, **self.terms)
        return self

    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Return n rows, or those of the release: `SyntheticRelease.sample`.

        Raises
        ------
        PlanError
            If nothing was fitted, or as there.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).sample(5)
        Traceback (most recent call last):
        dpopt.errors.PlanError: nothing was fitted: call fit(table) first
        """
        if not hasattr(self, "release_"):
            raise PlanError("nothing was fitted: call fit(table) first")
        return self.release_.sample(n)
