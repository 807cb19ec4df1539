"""The public population that the catalogue's instances were made from; kept as it was, so that they can be made again.

Predictions use `dpopt.releases.public_population.population`, which follows what real tables look like and may change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import permutation, public_stream, uniforms
from dpopt.schema.schema import Schema

CLASSES = 6
_CLASS_DECAY = 0.6
_NARROW, _WIDE = 15, 41


def public_population(schema: Schema, rows: int, *, seed: int) -> list[NDArray[np.int64]]:
    """Return the columns of codes of a public population, one (rows,) array per attribute.

    Each attribute has a Zipf distribution over its codes in random order, rank r with mass proportional to r**-tau; the
    exponents are spread evenly over the attributes, from nearly flat to one value almost always. A hidden class, with
    geometric shares, draws with probability lambda from its own order of the same masses; lambda is a power of a
    number spread evenly over (0, 1), so most attributes depend weakly on each other and some strongly. Codes that the
    schema declares as not occurring have no mass.

    Wider tables tend to have more columns that hardly vary and fewer strong dependences. So from 15 to 41 attributes
    the exponents move from [0.4, 4.5] to [1.5, 10] and the power of lambda from 2 to 4, all with the square of the
    width's place between the two. These numbers were set on public tables of 9 to 110 attributes;
    experiments/benchmarks compares prediction and measurement.

    Parameters
    ----------
    schema : Schema
        The public schema.
    rows : int
        Number of records.
    seed : int
        The same seed gives the same population for ever.
    """
    stream = public_stream(seed, "population")
    shares = _CLASS_DECAY ** np.arange(CLASSES)
    classes = np.searchsorted(np.cumsum(shares / shares.sum()), uniforms(stream, rows)).clip(max=CLASSES - 1)
    steepness = (permutation(stream, len(schema)) + 0.5) / len(schema)
    spread = (permutation(stream, len(schema)) + 0.5) / len(schema)
    width = min(1.0, max(0.0, (len(schema) - _NARROW) / (_WIDE - _NARROW))) ** 2
    flattest, steepest, dependence = 0.4 + 1.1 * width, 4.5 + 5.5 * width, spread ** (2.0 + 2.0 * width)
    columns = []
    for position, attribute in enumerate(schema.attributes):
        codes = np.arange(attribute.size) if attribute.occurring is None else np.array(attribute.occurring)
        exponent = flattest + (steepest - flattest) * steepness[position]
        masses = (np.arange(len(codes)) + 1.0) ** -exponent
        masses /= masses.sum()
        common = masses[permutation(stream, len(codes))]
        column = np.empty(rows, dtype=np.int64)
        points = uniforms(stream, rows)
        for hidden in range(CLASSES):
            own = masses[permutation(stream, len(codes))]
            distribution = (1 - dependence[position]) * common + dependence[position] * own
            members = classes == hidden
            ranks = np.searchsorted(np.cumsum(distribution), points[members], side="right").clip(max=len(codes) - 1)
            column[members] = codes[ranks]
        columns.append(column)
    return columns
