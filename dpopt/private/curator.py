"""The curator: the party that holds the records, and the only door through which anything leaves.

Whatever leaves has been charged first, then drawn, then written to the journal, in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import draw_charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.one_way import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PrivacyBoundaryError, PrivateDataError
from dpopt.private.dataset import PrivateDataset
from dpopt.private.noise import Noise, OpendpNoise
from dpopt.private.query_weights import ExactSampler, QuerySampler, QueryWeights
from dpopt.private.randomness import SystemWords
from dpopt.queries.clauses import Clauses
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers, SampledQueries


def is_trusted(sampler: QuerySampler | None, noise: Noise | None) -> bool:
    """Return whether draws come from the operating system's generator, by this project's and OpenDP's samplers.

    None stands for the default. Decided by exact types, not by what an object says of itself.
    """
    exact = sampler is None or (type(sampler) is ExactSampler and sampler.reads_the_system)
    return exact and (noise is None or type(noise) is OpendpNoise)


NOT_PRIVATE_DRAWS = "draws came from a seeded or scripted source"


class Curator:
    """Answers a driver with released values only.

    Parameters
    ----------
    dataset : PrivateDataset
        The records.
    clauses : Clauses
        Base queries over the attributes of the data set; the class is closed under negation.
    ledger : Ledger
        Holds the reservation of the whole plan; every draw is spent here before it is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Public size: n under replace-one, n0 under add-remove.
    step : Decimal
        Step eta.
    record_clauses : Clauses, optional
        The same queries over the coding of the synthetic records, where that differs from the table's (indicator bits).
    sampler, noise :
        Sources of draws; anything but the defaults marks the ledger as not private.
    threads : int
        Threads for loops over queries.
    progress : callable, optional
        Called with the share of the exact counting that is done. Its timing depends on public sizes only.

    Raises
    ------
    PrivateDataError
        Under replace-one, if the table does not have exactly `size` records.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        clauses: Clauses,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        step: Decimal,
        record_clauses: Clauses | None = None,
        sampler: QuerySampler | None = None,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        from dpopt.queries.kernels import count_clauses, pack_columns

        if ledger.relation is NeighbouringRelation.REPLACE_ONE and dataset._rows != size:
            raise PrivateDataError(
                f"the table has {dataset._rows:,} records but the plan was made for n = {size:,}. "
                "Under replace-one n is public and must be the table's exact size; plan with that n, "
                "or use add-remove with a fixed public n0"
            )
        self._dataset = dataset
        self._ledger = ledger
        self._journal = journal
        self._size = size
        self._step = step
        self._record_clauses = clauses if record_clauses is None else record_clauses
        self._sampler = ExactSampler(SystemWords()) if sampler is None else sampler
        self._noise = OpendpNoise() if noise is None else noise
        self._paid: Charge | None = None
        if ledger.is_private and not is_trusted(self._sampler, self._noise):
            ledger.mark_not_private(NOT_PRIVATE_DRAWS)
        packed = pack_columns(dataset._columns, dataset._schema.sizes, clauses)
        counts = count_clauses(packed, clauses, dataset._schema.offsets, threads=threads, progress=progress)
        self._weights = QueryWeights(counts, rows=dataset._rows, size=size, step=step, threads=threads)

    def __reduce__(self) -> NoReturn:
        raise PrivacyBoundaryError(
            "a curator holds the records and stays in the process: no pickling, no copies"
        )

    def draw_queries(self, draws: int) -> SampledQueries:
        """Charge, then draw the queries of the next round.

        Neighbouring relation, sensitivity and theorem: see `dpopt.private.query_weights.QueryWeights`. The charge is computed
        here from the number of records observed, never taken from the caller.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge; nothing is drawn then.
        """
        charge = self._next_charge(draws)
        self._ledger.spend(charge)
        self._journal.append({"kind": "charge", "charge": charge.to_json(), "round": self._round})
        return self._draw(draws, charge)

    def recall(self, charge: Charge, *, given_up: Charge | None = None, drawn: bool) -> None:
        """Spend a charge that is on file, when a run is resumed.

        Parameters
        ----------
        charge : Charge
            The charge on file.
        given_up : Charge or None
            The later round that was given up to pay for it, where it repeats a torn draw.
        drawn : bool
            Whether its draw may have been seen: it is on file, or torn. If not, `complete_draw` makes it.
        """
        if given_up is None:
            self._ledger.spend(charge)
        else:
            self._ledger.substitute(charge, given_up)
        self._paid = None if drawn else charge

    def complete_draw(self) -> SampledQueries:
        """Make the draw of the charge that was recalled without one; nothing had left the curator.

        Raises
        ------
        BudgetError
            If no such charge was recalled, or it is not that of the next round.
        """
        paid, self._paid = self._paid, None
        if paid is None or paid != self._next_charge(paid.count):
            raise BudgetError(
                "the charge on file is not that of the next round; transcript and plan do not fit together"
            )
        return self._draw(paid.count, paid)

    def repeat_draw(self, draws: int, *, given_up: Charge, given_up_round: int) -> SampledQueries:
        """Draw again for a round whose draw was torn on file, and pay by giving up a later round.

        Part of the torn draw may have been seen, so the round is charged a second time. `given_up` is a reserved charge that
        will never be spent; the ledger refuses unless the total stays within what was reserved.
        """
        charge = self._next_charge(draws)
        self._ledger.substitute(charge, given_up)
        self._journal.append(
            {"kind": "charge", "charge": charge.to_json(), "round": self._round, "given_up": given_up_round}
        )
        return self._draw(draws, charge)

    def observe(self, record: NDArray[np.int32]) -> None:
        """Take note of a synthetic record; nothing comes back."""
        from dpopt.queries.kernels import satisfied

        self._weights.observe(satisfied(self._record_clauses, record))

    def measure_one_way(self, *, scale: float, gaussian: bool) -> NoisyAnswers:
        """Charge, then measure all one-way marginals with integer noise.

        Neighbouring relation and sensitivity: a record counts once in each of the d attributes' histograms, so over all of
        them one record added or removed moves the counts by d in L1 and sqrt(d) in L2; replacing one, by at most 2 d and
        sqrt(2 d). Theorem: discrete Gaussian noise of parameter sigma is (L2^2 / (2 sigma^2))-zCDP (Canonne, Kamath and Steinke
        2020); discrete Laplace noise of scale b is (L1 / b)-DP. Checked by `tests/private/test_one_way.py`.
        """
        charge = self._one_way_charge(scale, gaussian=gaussian)
        self._ledger.spend(charge)
        self._journal.append({"kind": "charge", "charge": charge.to_json(), "round": 0})
        return self._measure_one_way(charge, scale=scale, gaussian=gaussian)

    def complete_one_way(self, *, scale: float, gaussian: bool) -> NoisyAnswers:
        """Make the measurement of a charge that was recalled without its values; nothing had left the curator."""
        charge = self._one_way_charge(scale, gaussian=gaussian)
        paid, self._paid = self._paid, None
        if paid != charge:
            raise BudgetError(
                "the charge on file is not that of the planned measurement; transcript and plan do not fit together"
            )
        return self._measure_one_way(charge, scale=scale, gaussian=gaussian)

    @property
    def _round(self) -> int:
        return self._weights.observed + 1

    def _next_charge(self, draws: int) -> Charge:
        return draw_charge(self._round, draws, float(self._step), self._size, self._ledger.relation)

    def _one_way_charge(self, scale: float, *, gaussian: bool) -> Charge:
        return one_way_charge(
            len(self._dataset._columns), scale=scale, gaussian=gaussian, relation=self._ledger.relation
        )

    def _draw(self, draws: int, charge: Charge) -> SampledQueries:
        signed = self._sampler.draw(self._weights, draws)
        queries, inverse = np.unique(signed // 2, return_inverse=True)
        net = np.zeros(len(queries), dtype=np.int64)
        np.add.at(net, inverse, 1 - 2 * (signed % 2))
        sampled = SampledQueries(self._round, queries[net != 0], net[net != 0], charge)
        self._journal.append(sampled.to_json())
        return sampled

    def _measure_one_way(self, charge: Charge, *, scale: float, gaussian: bool) -> NoisyAnswers:
        sizes = self._dataset._schema.sizes
        exact = np.concatenate(
            [
                np.bincount(column, minlength=size)
                for column, size in zip(self._dataset._columns, sizes, strict=True)
            ]
        ).astype(np.int64)
        add_noise = self._noise.discrete_gaussian if gaussian else self._noise.discrete_laplace
        noise = "discrete Gaussian" if gaussian else "discrete Laplace"
        measured = NoisyAnswers("one-way marginals", add_noise(exact, scale), noise, scale, charge)
        self._journal.append(measured.to_json())
        return measured
