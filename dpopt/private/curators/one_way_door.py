"""A door that also measures one-way marginals: for the curators of algorithms whose records come from drawn queries."""

from __future__ import annotations

import numpy as np

from dpopt.accounting.charges import Charge
from dpopt.accounting.one_way import ONE_WAY, one_way_charge
from dpopt.private.curators.table_door import TableDoor
from dpopt.private.measurements.measurement import Measurement
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from dpopt.transcript.released import NoisyAnswers


class OneWayDoor(TableDoor):
    """Measures all one-way marginals, once, where the plan says so."""

    def measure_one_way(self, *, scale: float, gaussian: bool) -> NoisyAnswers:
        """Charge, then measure all one-way marginals with integer noise.

        Neighbouring relation and sensitivity: over d attributes one record added or removed moves the counts by d in L1 and
        sqrt(d) in L2; replacing one, by at most 2 d and sqrt(2 d). Privacy: C1, C4 in docs/privacy.md. Test:
        `tests/private/test_one_way.py`.
        """
        charge = self._charged(self._one_way_charge(scale, gaussian=gaussian), round=0)
        return self._measured(self._one_way(scale, gaussian=gaussian), charge)

    def complete_one_way(self, *, scale: float, gaussian: bool) -> NoisyAnswers:
        """Make the measurement of a charge that was recalled without its values; nothing had left the curator.

        Privacy: A5, C4 in docs/privacy.md.
        """
        expected = self._one_way_charge(scale, gaussian=gaussian)
        charge = self._recalled(expected, "the planned measurement")
        return self._measured(self._one_way(scale, gaussian=gaussian), charge)

    def _one_way_charge(self, scale: float, *, gaussian: bool) -> Charge:
        return one_way_charge(
            len(self._dataset._schema), scale=scale, gaussian=gaussian, relation=self._relation
        )

    def _one_way(self, scale: float, *, gaussian: bool) -> Measurement:
        return Measurement(ONE_WAY, one_way_marginals(self._dataset._schema), scale, gaussian)


def one_way_marginals(schema: Schema) -> MarginalSet:
    """Return the histogram of every attribute of a schema, over all of its codes."""
    attributes = np.arange(len(schema), dtype=np.int32)[:, None]
    return MarginalSet(Domains.of(schema, occurring=False), attributes)
