"""Short forms of workloads: 'marginals:3', 'threshold:2of4,count=1000,seed=7' and their like."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.domains import Domains
from dpopt.queries.generation import (
    all_marginals,
    all_parities,
    chosen_marginals,
    random_conjunctions,
    random_parities,
    random_thresholds,
)
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.schema import Schema

FORMS = (
    "'marginals:K', 'marginals:K,count=N,seed=S', 'conjunctions:K,count=N,seed=S', 'threshold:RofK,count=N,seed=S', "
    "'parity:K', 'parity:K,count=N,seed=S' (each also with ',occurring'), or the path of a JSON file"
)
_FAMILIES = ("marginals", "conjunctions", "threshold", "parity")
_EXAMPLES = {"conjunctions": "conjunctions:3,count=100000", "threshold": "threshold:2of4,count=100000"}


def is_short_form(text: str) -> bool:
    """Return whether a text starts like a short form, so that it cannot be meant as a path."""
    return re.match(rf"\s*({'|'.join(_FAMILIES)})\s*(:|$)", text) is not None


@dataclass(frozen=True, slots=True)
class ShortForm:
    """A parsed short form.

    Parameters
    ----------
    family
        'marginals', 'conjunctions', 'threshold' or 'parity'.
    width
        Number of attributes of each query (K).
    least
        Thresholds: how many literals must be true (R). None in other families.
    count
        How many marginals or queries are chosen at random; None for all of them.
    seed
        Public seed of the choice, below 2^64.
    occurring
        Whether only values that the schema declares as occurring are named.
    """

    family: str
    width: int
    least: int | None
    count: int | None
    seed: int
    occurring: bool

    @classmethod
    def parse(cls, text: str) -> ShortForm:
        """Return what a text says; blanks around its words, numbers and signs make no difference.

        Raises
        ------
        WorkloadError
            Naming the part that is not understood.
        """
        family, colon, rest = text.strip().partition(":")
        family = family.strip()
        if family not in _FAMILIES or not colon:
            raise WorkloadError(f"the workload {text!r} has no known form; expected {FORMS}")
        shape, *options = (part.strip() for part in rest.split(","))
        least, width = _shape(shape, family, text)
        given = _options(options, text)
        if family in _EXAMPLES and "count" not in given:
            raise WorkloadError(
                f"the workload {text!r} needs the number of queries, such as '{_EXAMPLES[family]}'"
            )
        if "seed" in given and "count" not in given:
            every = "all marginals" if family == "marginals" else "all parities"
            raise WorkloadError(f"the workload {text!r} takes {every}, so a seed has no effect; leave it out")
        seed = given.get("seed", 0)
        if seed >= 1 << 64:
            raise WorkloadError(f"the workload {text!r} has the seed {seed}; seeds are below 2^64")
        return cls(family, width, least, given.get("count"), seed, "occurring" in given)

    def text(self) -> str:
        """Return the canonical spelling."""
        shape = str(self.width) if self.least is None else f"{self.least}of{self.width}"
        chosen = "" if self.count is None else f",count={self.count},seed={self.seed}"
        return f"{self.family}:{shape}{chosen}{',occurring' if self.occurring else ''}"

    def queries(self, schema: Schema) -> MarginalSet | Clauses:
        """Return the queries over a schema; marginals as shapes.

        Raises
        ------
        WorkloadError
            If the schema has no such queries, or there are too many (refused before anything is built).
        """
        domains = Domains.of(schema, occurring=self.occurring)
        width, count, seed = self.width, self.count, self.seed
        if self.family == "marginals":
            if count is None:
                return all_marginals(width, schema, domains)
            return chosen_marginals(width, count, seed, schema, domains)
        if count is None:
            return all_parities(width, schema, domains)
        if self.least is not None:
            return random_thresholds(width, self.least, count, seed, schema, domains)
        family = random_parities if self.family == "parity" else random_conjunctions
        return family(width, count, seed, schema, domains)


def _shape(shape: str, family: str, text: str) -> tuple[int | None, int]:
    """Return R and K of a threshold 'RofK'; None and K of any other family."""
    if family != "threshold":
        return None, _whole(shape, "number of attributes", text)
    least, of, width = shape.partition("of")
    if not of:
        raise WorkloadError(
            f"the workload {text!r} has the shape {shape!r}; expected RofK, such as "
            f"'{_EXAMPLES[family]}': at least 2 of 4 literals"
        )
    return _whole(least.strip(), "number of true literals", text), _whole(
        width.strip(), "number of attributes", text
    )


def _options(options: list[str], text: str) -> dict[str, int]:
    """Return the options that are given; 1 for a flag."""
    given: dict[str, int] = {}
    for option in options:
        key, equals, number = (part.strip() for part in option.partition("="))
        if key not in ("count", "seed", "occurring") or bool(equals) == (key == "occurring"):
            raise WorkloadError(
                f"the workload {text!r} has the option {option!r}; expected count=N, seed=S or occurring"
            )
        if key in given:
            raise WorkloadError(f"the workload {text!r} gives {key!r} twice")
        given[key] = _whole(number, key, text) if equals else 1
    return given


def _whole(text: str, what: str, workload: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise WorkloadError(f"the workload {workload!r}: {what} is a whole number, found {text!r}")
    return int(text)
