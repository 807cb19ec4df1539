"""A public population over any schema: skewed attributes that depend on hidden classes and on each other. Nobody's data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.releases.public_population.public_choice import permutation, public_stream, uniforms
from dpopt.schema.schema import Schema

CLASSES = 6
CLASS_DECAY = 0.6
_NARROW, _MIDDLE, _WIDE = 13, 24, 41
_FEW_CODES = 20


def public_population(schema: Schema, rows: int, *, seed: int) -> list[NDArray[np.int64]]:
    """Return the columns of codes of a public population, one (rows,) array per attribute.

    Each attribute has a Zipf distribution over its codes in random order, rank r with mass proportional to r**-tau; the
    exponents are spread evenly over the attributes, from nearly flat to one value almost always. Attributes depend on each
    other in two ways. A hidden class, with geometric shares, draws with probability lambda from its own order of the same
    masses: weak dependences among all attributes. And each attribute, in a random order, takes with probability mu the place
    in its distribution that an earlier attribute has in its own: strong dependences of some pairs. lambda and mu are powers
    of numbers spread evenly over (0, 1). Codes that the schema declares as not occurring have no mass.

    What the width of a table says: from 13 to 24 attributes the exponents move from [0.5, 5.8] to [0.3, 3.8] and the power of
    mu from 1.5 to 0.3; from 13 to 41 attributes, with the square of the place between the two, the power of lambda moves from
    1.5 to 5, and with its fourth power the exponents of attributes with at most 20 codes become up to ten times as large: wide
    tables have more columns that hardly vary. These numbers were set on the entropies and the mutual informations of
    public tables of 7 to 48 attributes; experiments/accuracy_leader compares prediction and measurement.

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
    count = len(schema)
    shares = CLASS_DECAY ** np.arange(CLASSES)
    classes = np.searchsorted(np.cumsum(shares / shares.sum()), uniforms(stream, rows)).clip(max=CLASSES - 1)
    steepness, spread, tied = ((permutation(stream, count) + 0.5) / count for _ in range(3))
    order, earlier = permutation(stream, count), uniforms(stream, count)
    width = min(1.0, max(0.0, (count - _NARROW) / (_WIDE - _NARROW)))
    middle = min(1.0, max(0.0, (count - _NARROW) / (_MIDDLE - _NARROW)))
    flattest, steepest = 0.5 - 0.2 * middle, 5.8 - 2.0 * middle
    dependence, ties = spread ** (1.5 + 3.5 * width**2), tied ** (1.5 - 1.2 * middle)
    columns = [np.empty(0, dtype=np.int64)] * count
    places = [np.empty(0)] * count
    for turn, position in enumerate(order.tolist()):
        attribute = schema.attributes[position]
        codes = np.arange(attribute.size) if attribute.occurring is None else np.array(attribute.occurring)
        exponent = flattest + (steepest - flattest) * steepness[position]
        if attribute.size <= _FEW_CODES:
            exponent *= 1 + 9 * width**4
        masses = (np.arange(len(codes)) + 1.0) ** -exponent
        masses /= masses.sum()
        common = masses[permutation(stream, len(codes))]
        points, taken = uniforms(stream, rows), uniforms(stream, rows) < ties[position]
        if turn > 0:
            points = np.where(taken, places[int(order[int(earlier[position] * turn)])], points)
        column = np.empty(rows, dtype=np.int64)
        for hidden in range(CLASSES):
            own = masses[permutation(stream, len(codes))]
            distribution = (1 - dependence[position]) * common + dependence[position] * own
            members = classes == hidden
            ranks = np.searchsorted(np.cumsum(distribution), points[members], side="right").clip(
                max=len(codes) - 1
            )
            column[members] = codes[ranks]
        columns[position], places[position] = column, points
    return columns
