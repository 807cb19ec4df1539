"""The coefficients of decision lists with the least predicted error of an answer: their own error and that of noise.

Problem (models/decision_lists): rows are decision lists of up to k literals whose output changes at most r times. "None
of the first i literals is true" is written as q_i(s) = sum_{a, b} c_i(a, b) C(s, a) C(i - s, b) of the number s of true
ones, with a + b <= t. For weights w_j >= 0, error E of the worst row at the worst point, and sensitivity S_j of the
counts of j literals,

    minimize    E + sum_j w_j S_j                                                                                  DL-1
    subject to  V_{i-1}(s, g, r) >= V_i(s', g, r),                        s' = s, s + 1, g = 1, -1
                V_{i-1}(s, g, r) >= g (q_i(s') - [s' = 0]) + V_i(s', -g, r - 1),   V_k = V(., ., 0) = 0            DL-2
                E >= V_0(0, g, r)                                                                                  DL-3
                W_p(g, r) >= W_{p+1}(g, r),   W_p(g, r) >= g c_p(a, b) + W_{p+1}(-g, r - 1),
                W_{k+1} = W(., 0) = 0,        M_p >= W_p(g, r)            for each a, b                            DL-4
                S_j >= sum_a h(C(j, a)) sum_p (h(C(p, j)) - h(C(p - 1, j))) M_p(a, j - a)                          DL-5
                S_j >= h(C(i, j)) sum_a h(C(j, a)) |c_i(a, j - a)|   in its place if r = 1, for each i        DL-6
                S_0 >= U + L or U, L;  U >= W_1(1), 1 + W_1(-1);  L >= W_1(-1), W_1(1) - 1    (of c_{0, 0})         DL-7

h is the root for Gaussian noise (distances in L2) and nothing for Laplace noise (L1). V is the longest way through a
graph whose states are the place in the row, how many literals were true, the direction of the next change and how many
may come: the 2^k points times the 2^k outputs in O(k^2 r) rows. So is W, the largest alternating sum of coefficients.
Without a limit, r = k, the changes are not counted.

Source: our own; Thaler, Ullman and Vadhan (2012), section 4.3, for what is approximated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder

_SIGNS = (1, -1)
Terms = dict[int, float]


@dataclass(frozen=True, slots=True)
class ListProgram:
    """The linear program, and where its coefficients stand."""

    model: Model
    """A minimization."""
    places: tuple[tuple[int, int, int], ...]
    """(i, a, b) of the first variables, in their order."""
    length: int
    size: int
    """k and t."""

    def coefficients(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return c_i(a, b) of a point of the program, (k + 1, t + 1, t + 1)."""
        found = np.zeros((self.length + 1, self.size + 1, self.size + 1))
        found[tuple(np.array(self.places).T)] = point[: len(self.places)]
        return found


def decision_lists(
    length: int, changes: int, weights: NDArray[np.float64], *, gaussian: bool, replaced: bool, negations: bool = True
) -> ListProgram:
    """Return the linear program.

    Parameters
    ----------
    length
        k, at least 1.
    changes
        r, from 1 to k.
    weights : (t + 1,) float64
        w_j >= 0, t <= k; inf: nothing of this size is counted.
    gaussian
        Whether h is the root.
    replaced
        Whether S_0 is for rows that are replaced, and not added or removed. (In other sizes that is a factor of the
        weights.)
    negations
        Whether rows count in conjunctions of negations of their literals, too; else c_{a, b} = 0 for b > 0, as in the
        paper.
    """
    size = weights.size - 1
    if length < 1 or not 1 <= changes <= length or not 0 <= size <= length or weights.ndim != 1:
        raise ProgramError(
            f"found k = {length}, {changes} changes and {weights.size} weights; expected k from 1, changes from 1 to "
            f"k, and at most k + 1 weights"
        )
    if not (weights >= 0).all() or not np.isfinite(weights[0]):
        raise ProgramError("expected weights that are at least 0, and that of the empty conjunction finite")
    rows = _Rows(length, changes, size, weights, gaussian, negations)
    rows.errors()
    for j in range(size + 1):
        if np.isfinite(weights[j]):
            rows.sensitivity(j, replaced=replaced)
    return ListProgram(rows.model(), tuple(rows.places), length, size)


def _joined(names: list[tuple[object, ...]]) -> list[str]:
    return [",".join(map(str, name)) for name in names]


@dataclass
class _Rows:
    """Variables by name and rows, each a sum that is at least its bound."""

    length: int
    changes: int
    size: int
    weights: NDArray[np.float64]
    gaussian: bool
    negations: bool
    places: list[tuple[int, int, int]] = field(init=False)
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    _rows: dict[str, list[tuple[Terms, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = [
            (i, a, j - a)
            for i in range(1, self.length + 1)
            for j in range(min(self.size, i) + 1)
            if np.isfinite(self.weights[j])
            for a in self._positive(j)
        ]
        for place in self.places:
            self._number("c", *place)
        self._number("E")

    def errors(self) -> None:
        """DL-2 and DL-3."""
        for i in range(1, self.length + 1):
            for s in range(i):
                for sign in _SIGNS:
                    for left in self._left():
                        here = self._number("V", i - 1, s, sign, left)
                        for true in (s, s + 1):
                            self._at_least("DL-2", {here: 1.0}, self._later("V", i, true, sign, left))
                            change = self._later("V", i, true, -sign, self._after(left))
                            for number, value in self._values(i, true):
                                change[number] = sign * value
                            self._at_least("DL-2", {here: 1.0}, change, -float(sign) if true == 0 else 0.0)
        for sign in _SIGNS:
            self._at_least("DL-3", {self._number("E"): 1.0}, self._later("V", 0, 0, sign, self._most))

    def sensitivity(self, j: int, *, replaced: bool) -> None:
        """DL-4 to DL-7 for conjunctions of j literals."""
        total = {self._number("S", j): 1.0}
        if j == 0:
            self._sums(0, 0)
            up, down = self._number("U"), self._number("L")
            rising, falling = (self._later("W", 0, 0, 1, sign, self._most) for sign in _SIGNS)
            for bound, sums, more in (
                (up, rising, 0.0),
                (up, falling, 1.0),
                (down, falling, 0.0),
                (down, rising, -1.0),
            ):
                self._at_least("DL-7", {bound: 1.0}, sums, more)
            for part in ({up: 1.0, down: 1.0},) if replaced else ({up: 1.0}, {down: 1.0}):
                self._at_least("DL-7", total, part)
        elif self.changes == 1:
            for i in range(j, self.length + 1):
                part = {}
                for a in self._positive(j):
                    bound, one = self._number("M", j, a, i), self._number("c", i, a, j - a)
                    for sign in _SIGNS:
                        self._at_least("DL-6", {bound: 1.0}, {one: float(sign)})
                    part[bound] = self._h(comb(i, j)) * self._h(comb(j, a))
                self._at_least("DL-6", total, part)
        else:
            part = {}
            for a in self._positive(j):
                self._sums(j, a)
                for p in range(j, self.length + 1):
                    bound = self._number("M", j, a, p)
                    for sign in _SIGNS:
                        self._at_least("DL-4", {bound: 1.0}, self._later("W", j, a, p, sign, self._most))
                    part[bound] = self._h(comb(j, a)) * (self._h(comb(p, j)) - self._h(comb(p - 1, j)))
            self._at_least("DL-5", total, part)

    def model(self) -> Model:
        """Return the model: a block of variables for each letter, and one of rows for each label."""
        build = Builder()
        place: dict[int, int] = {}
        for symbol in dict.fromkeys(str(name[0]) for name in self._numbers):
            kept = {name[1:]: number for name, number in self._numbers.items() if name[0] == symbol}
            weights = [self.weights[int(str(name[0]))] if symbol == "S" else symbol == "E" for name in kept]
            numbers = build.variables(
                symbol,
                *(() if symbol in "EUL" else (len(kept),)),
                lower=-np.inf if symbol == "c" else 0.0,
                objective=weights[0] if symbol in "EUL" else weights,
                inside=partial(_joined, list(kept)),
            )
            place |= dict(zip(kept.values(), numbers.ravel().tolist(), strict=True))
        for label, rows in self._rows.items():
            entries = [
                (row, place[number], value) for row, (terms, _) in enumerate(rows) for number, value in terms.items()
            ]
            row, column, value = (list(part) for part in zip(*entries, strict=True))
            build.rows(label, len(rows), (row, column, value), lower=[bound for _, bound in rows])
        return Model.of("decision_lists", build)

    def _sums(self, j: int, a: int) -> None:
        """W of DL-4 for c_{a, j - a}."""
        for p in range(max(1, j), self.length + 1):
            for sign in _SIGNS:
                for left in self._left():
                    here = self._number("W", j, a, p, sign, left)
                    self._at_least("DL-4", {here: 1.0}, self._later("W", j, a, p + 1, sign, left))
                    change = self._later("W", j, a, p + 1, -sign, self._after(left))
                    change[self._number("c", p, a, j - a)] = float(sign)
                    self._at_least("DL-4", {here: 1.0}, change)

    def _positive(self, j: int) -> range:
        """Return how many of j literals stand as in the row."""
        return range(0 if self.negations else j, j + 1)

    def _values(self, i: int, true: int) -> Iterator[tuple[int, float]]:
        """The terms of q_i(s)."""
        for place in self.places:
            if place[0] == i:
                value = comb(true, place[1]) * comb(i - true, place[2])
                if value:
                    yield self._number("c", *place), float(value)

    @property
    def _most(self) -> int:
        """How many changes may come at first; -1 stands for any number."""
        return -1 if self.changes == self.length else self.changes

    def _left(self) -> range:
        return range(-1, 0) if self._most < 0 else range(1, self.changes + 1)

    def _after(self, left: int) -> int:
        return left if left < 0 else left - 1

    def _later(self, kind: str, *state: int) -> Terms:
        """A variable that is 0 where nothing more can come."""
        place = state[0] if kind == "V" else state[2] - 1
        return {} if place == self.length or state[-1] == 0 else {self._number(kind, *state): 1.0}

    def _at_least(self, label: str, greater: Terms, less: Terms, more: float = 0.0) -> None:
        """Greater >= less + more."""
        terms = dict(greater)
        for number, value in less.items():
            terms[number] = terms.get(number, 0.0) - value
        kept = {number: value for number, value in terms.items() if value}
        self._rows.setdefault(label, []).append((kept, more))

    def _number(self, *name: object) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _h(self, number: int) -> float:
        return sqrt(number) if self.gaussian else float(number)
