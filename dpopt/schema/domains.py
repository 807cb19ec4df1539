"""The codes that queries may name, for every attribute of a schema."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt, freeze
from dpopt.constraints import constrain
from dpopt.errors import WorkloadError
from dpopt.schema.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Domains(Rebuilt):
    """The codes that queries may name: attribute a has the codes codes[starts[a]], ..., counts[a] of them."""

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Shape (d,), both."""
    codes: NDArray[np.int32]

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)

    @classmethod
    def of(cls, schema: Schema, *, occurring: bool) -> Domains:
        """Return all codes of each attribute, or only those that the schema declares as occurring."""
        if schema.is_binary and not occurring:
            codes = np.zeros(2 * len(schema), dtype=np.int32)
            codes[1::2] = 1
            return cls(freeze(schema.sizes.astype(np.int64)), schema.offsets[:-1], freeze(codes))
        declared = [attribute.occurring if occurring else None for attribute in schema.attributes]
        if occurring and all(codes is None for codes in declared):
            raise WorkloadError(
                "the workload asks for occurring values only, but the schema declares none; "
                "declare 'occurring' for some attribute, or leave the flag out"
            )
        domains = [
            range(attribute.size) if codes is None else codes
            for attribute, codes in zip(schema.attributes, declared, strict=True)
        ]
        counts = np.array([len(codes) for codes in domains], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(domains), dtype=np.int32, count=int(counts.sum()))
        return cls(counts, np.cumsum(counts) - counts, flat)

    def codes_of(self, attribute: int) -> NDArray[np.int32]:
        """Return the codes of one attribute that queries may name."""
        start = int(self.starts[attribute])
        return self.codes[start : start + int(self.counts[attribute])]
