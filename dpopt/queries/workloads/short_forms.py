"""Short forms of workloads: 'marginals:3', 'threshold:2of4,count=1000,seed=7' and their like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.families import (
    all_marginals,
    all_parities,
    chosen_marginals,
    random_conjunctions,
    random_parities,
    random_thresholds,
)
from dpopt.queries.workloads.items import EXPONENTS, popular_conjunctions
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

FORMS = (
    "'marginals:K', 'marginals:K,count=N,seed=S', 'conjunctions:K,count=N,seed=S', 'threshold:RofK,count=N,seed=S', "
    "'parity:K', 'parity:K,count=N,seed=S' (each also with ',occurring'), 'popular:K,count=N,seed=S,ranks=FILE' (this "
    "and conjunctions also with ',positive'), or the path of a JSON file"
)
POPULAR = "popular"
_FAMILIES = ("marginals", "conjunctions", "threshold", "parity", POPULAR)
_EXAMPLES = {
    "conjunctions": "conjunctions:3,count=100000",
    "threshold": "threshold:2of4,count=100000",
    POPULAR: "popular:3,count=100000,ranks=items.txt",
}
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "occurring": ("marginals", "conjunctions", "threshold", "parity"),
    "positive": ("conjunctions", POPULAR),
}
"""Which families take a flag."""
_OF_POPULAR = ("exponent", "ranks")


def is_short_form(text: str) -> bool:
    """Return whether a text starts like a short form, so that it cannot be meant as a path."""
    return re.match(rf"\s*({'|'.join(_FAMILIES)})\s*(:|$)", text) is not None


@dataclass(frozen=True, slots=True)
class ShortForm:
    """A parsed short form."""

    family: str
    """'marginals', 'conjunctions', 'threshold', 'parity' or 'popular'."""
    width: int
    """Number of attributes of each query (K)."""
    least: int | None
    """Thresholds: how many literals must be true (R). None in other families."""
    count: int | None
    """How many marginals or queries are chosen at random; None for all of them."""
    seed: int
    """Public seed of the choice, below 2^64."""
    occurring: bool
    """Whether only values that the schema declares as occurring are named."""
    positive: bool = False
    """Whether every literal is "=", and "= second value" of attributes with two values."""
    exponent: str = "1"
    """Popular items: the exponent of the ranks as it is written."""
    ranks_file: str | None = None
    """Popular items: the file with the ranks, read once and named nowhere; None where the ranks are kept elsewhere."""

    @classmethod
    def parse(cls, text: str) -> ShortForm:
        """Return the workload that a text declares; blanks around words, numbers and punctuation make no difference."""
        family, colon, rest = text.strip().partition(":")
        family = family.strip()
        if family not in _FAMILIES or not colon:
            raise WorkloadError(f"the workload {text!r} has no known form; expected {FORMS}")
        shape, *options = (part.strip() for part in rest.split(","))
        least, width = _shape(shape, family, text)
        given = _options(options, family, text)
        if family in _EXAMPLES and "count" not in given:
            raise WorkloadError(f"the workload {text!r} needs the number of queries, such as '{_EXAMPLES[family]}'")
        if "seed" in given and "count" not in given:
            every = "all marginals" if family == "marginals" else "all parities"
            raise WorkloadError(f"the workload {text!r} takes {every}, so a seed has no effect; leave it out")
        seed = _whole(given.get("seed", "0"), "seed", text)
        if seed >= 1 << 64:
            raise WorkloadError(f"the workload {text!r} has the seed {seed}; seeds are below 2^64")
        exponent = given.get("exponent", "1")
        if exponent not in EXPONENTS:
            raise WorkloadError(
                f"the workload {text!r} has the exponent {exponent!r}; expected one of {', '.join(EXPONENTS)}"
            )
        return cls(
            family,
            width,
            least,
            _whole(given["count"], "count", text) if "count" in given else None,
            seed,
            "occurring" in given,
            "positive" in given,
            exponent,
            given.get("ranks"),
        )

    def text(self) -> str:
        """Return the canonical spelling; a file of ranks is no part of it."""
        shape = str(self.width) if self.least is None else f"{self.least}of{self.width}"
        chosen = "" if self.count is None else f",count={self.count},seed={self.seed}"
        exponent = "" if self.exponent == "1" else f",exponent={self.exponent}"
        flags = f"{',occurring' if self.occurring else ''}{',positive' if self.positive else ''}"
        return f"{self.family}:{shape}{chosen}{exponent}{flags}"

    def queries(self, schema: Schema, ranks: NDArray[np.int64] | None = None) -> MarginalSet | Clauses:
        """Return the queries over a schema; marginals as shapes.

        `ranks` (items,) int64 are the positions of items, the most popular first: for popular items, and only there.
        """
        if (ranks is None) == (self.family == POPULAR):
            raise WorkloadError(
                f"the workload '{self.text()}' needs the ranks of its items: 'ranks=FILE', or the key 'ranks' in a "
                f"JSON file"
                if ranks is None
                else f"the workload '{self.text()}' has no use for ranks; they go with 'popular:K,...'"
            )
        if ranks is not None:
            return popular_conjunctions(
                self.width,
                self.count or 0,
                self.seed,
                ranks,
                schema,
                twice_exponent=EXPONENTS[self.exponent],
                positive=self.positive,
            )
        return self._over_values(schema)

    def _over_values(self, schema: Schema) -> MarginalSet | Clauses:
        """Return the queries of the families that name declared values of any attributes."""
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
        if self.family == "conjunctions":
            return random_conjunctions(width, count, seed, schema, domains, positive=self.positive)
        return random_parities(width, count, seed, schema, domains)


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
    return _whole(least.strip(), "number of true literals", text), _whole(width.strip(), "number of attributes", text)


def _options(options: list[str], family: str, text: str) -> dict[str, str]:
    """Return the options that are given, as they are written; "" for a flag."""
    known = ("count", "seed", *(_OF_POPULAR if family == POPULAR else ()))
    flags = [flag for flag, families in _FLAGS.items() if family in families]
    given: dict[str, str] = {}
    for option in options:
        key, equals, value = (part.strip() for part in option.partition("="))
        if (equals and key not in known) or (not equals and key not in flags) or (equals and not value):
            expected = {"count": "count=N", "seed": "seed=S", "exponent": "exponent=A", "ranks": "ranks=FILE"}
            *first, last = (*(expected[name] for name in known), *flags)
            raise WorkloadError(
                f"the workload {text!r} has the option {option!r}; expected {', '.join(first)} or {last}"
            )
        if key in given:
            raise WorkloadError(f"the workload {text!r} gives {key!r} twice")
        given[key] = value
    return given


def _whole(text: str, what: str, workload: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise WorkloadError(f"the workload {workload!r}: {what} is a whole number, found {text!r}")
    return int(text)
