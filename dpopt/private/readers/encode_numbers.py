"""Numbers of a numeric column as the schema reads them, and not their bins: for the owner's figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.domain_codes import Coded, NumericCodes
from dpopt.private.readers.encode import ColumnEncoder
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.schema.schema import Attribute

_ABSENT, _OTHER = 0, 1


class DistinctNumbers(NumericCodes):
    """Codes that stand for numbers: positions in a list that grows, which may name one number several times."""

    def __init__(self, attribute: Attribute, policy: OnInvalid, decimal: str = ".") -> None:
        super().__init__(attribute, policy, decimal)
        other = np.nan if attribute.other is None else float(attribute.other)
        self._known = [np.array([np.nan, other])]
        self._length = 2
        if attribute.missing is not None:
            self.null_code = _ABSENT

    def numbers(self, numbers: NDArray[np.float64]) -> Coded:
        """Return the position of each number, clipped where the reading clips."""
        codes = super().numbers(numbers)
        absent = np.isnan(numbers)
        if self._missing_number is not None:
            absent |= numbers == self._missing_number
        fits = (codes >= 0) & ~absent
        found, places = np.unique(np.clip(numbers[fits], self._low, self._high), return_inverse=True)
        codes[fits] = self._length + places.astype(np.int32)
        self._known.append(found)
        self._length += found.size
        return codes

    def known(self) -> NDArray[np.float64]:
        """Return what each position stands for; NaN is a missing value."""
        return np.concatenate(self._known)


class NumberEncoder(ColumnEncoder):
    """A `ColumnEncoder` of a numeric attribute whose codes are positions in `known`."""

    def __init__(self, attribute: Attribute, policy: OnInvalid, **how: Any) -> None:
        super().__init__(attribute, policy, **how)
        self._domain: DistinctNumbers = DistinctNumbers(attribute, policy, how.get("decimal", "."))
        self._dtype = np.dtype(np.uint32)
        if self._bucket is not None:
            self._bucket = _ABSENT if attribute.other is None else _OTHER

    def known(self) -> NDArray[np.float64]:
        """Return the number that each code stands for; NaN is a missing value."""
        return self._domain.known()
