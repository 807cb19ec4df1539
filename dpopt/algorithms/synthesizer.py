"""A release in the manners of scikit-learn: parameters first, then the table, then rows. scikit-learn is not needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from dpopt.algorithms.synthesize import release
from dpopt.errors import PlanError, check_types
from dpopt.html_pages.shown import Shown
from dpopt.queries.workloads.workload import Workload
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from dpopt.algorithms.synthetic_release import SyntheticRelease
    from dpopt.private.readers.open_table import AnyTable
    from dpopt.private.readers.read_binary_table import AnyBinaryTable


class Synthesizer(Shown):
    """Fits synthetic records to a table under differential privacy, and gives as many rows of them as are asked for.

    Each `fit` is a release of its own and spends its budget again; `sample` spends nothing.

    Parameters
    ----------
    schema : Schema or path
        Declared attributes. Public.
    workload : Workload or str, optional
        The queries that the synthetic records should answer well. Public.
    **asked
        Everything else that `dpopt.release` takes: epsilon, delta, algorithm, budget, ...

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
        self,
        schema: Schema | str | os.PathLike[str],
        workload: Workload | str | None = None,
        **asked: Any,
    ) -> None:
        self.schema = schema
        self.workload = workload
        self.asked = asked

    def _said(self) -> list[str]:
        asked = [f"{name}={value!r}" for name, value in self.asked.items()]
        fitted = [repr(self.release_)] if hasattr(self, "release_") else []
        return [repr(self.schema), repr(self.workload), *asked, *fitted]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  as scikit-learn calls it
        """Return what the synthesizer was made with, by name; `deep` is for estimators that hold others.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).get_params()
        {'schema': 'schema.json', 'workload': None, 'epsilon': 1}
        """
        return {"schema": self.schema, "workload": self.workload, **self.asked}

    def set_params(self, **params: Any) -> Self:
        """Change what the synthesizer was made with; what was fitted stays.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).set_params(epsilon=2).get_params()["epsilon"]
        2
        """
        self.schema, self.workload = params.pop("schema", self.schema), params.pop("workload", self.workload)
        self.asked = {**self.asked, **params}
        return self

    def fit(self, table: AnyTable | AnyBinaryTable, y: object = None) -> Self:
        """Release a table; what is asked is checked, and what it costs is spent, now.

        Parameters
        ----------
        table : path, DataFrame, array or sparse matrix
            Private.
        y : object
            Not used: columns that are to be learned are columns of the table.

        Raises
        ------
        DpoptError
            As `dpopt.release`.

        Examples
        --------
        >>> schema = Schema.binary(2)
        >>> asked = {"epsilon": 1, "neighbours": "replace", "algorithm": "projection"}
        >>> import numpy
        >>> Synthesizer(schema, "marginals:1", **asked).fit(numpy.eye(2)).release_.chosen["algorithm"]
        'projection'
        """
        self.release_: SyntheticRelease = release(table, self.schema, self.workload, **self.asked)
        return self

    def sample(self, n: int | None = None) -> pd.DataFrame:
        """Return n rows, or as many as were released; see `SyntheticRelease.sample`.

        Raises
        ------
        PlanError
            If nothing was fitted, or n is no number of rows.

        Examples
        --------
        >>> Synthesizer("schema.json", epsilon=1).sample(5)
        Traceback (most recent call last):
        dpopt.errors.PlanError: nothing was fitted: call fit(table) first
        """
        check_types("Synthesizer.sample", {"n": n}, {"n": int | None})
        if not hasattr(self, "release_"):
            raise PlanError("nothing was fitted: call fit(table) first")
        return self.release_.sample(n)
