"""Programs as text: formulas to read, and LP files that every solver reads.

LP files hold numbers with as many digits as it takes to read the same double back. A row with two sides is written as
two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.building import Block
from dpopt.programs.conic import Cone, ConicProgram, PointProgram
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import MultipliedOut, QuadraticProgram

_TERMS = 8
_NEVER = str.maketrans(dict.fromkeys([*map(chr, range(33)), *"\"'*$\x7f"], "_"))
_OTHERS = str.maketrans({"=": "~"} | dict.fromkeys("!#%&+-/:;<>?@\\^`{|}", "_"))
MPS_REPLACES = _NEVER
LP_REPLACES = _NEVER | _OTHERS | str.maketrans("[]", "()")
PULP_REPLACES = _NEVER | _OTHERS | str.maketrans("[]", "__")  # PuLP writes LP files of its own
"""Replacements of characters in names, for LP files, MPS files and PuLP. Characters beyond ASCII were replaced by their code
points before."""

_LONGEST = 88  # letters of a name: CBC's reader of LP files takes 96, of which a number at the end needs some
_NO_NAME = re.compile(
    r"[^A-DF-Za-df-z_]|inf|nan|(min|max)(imi[sz]e|imum)?$|(subject|such|st|s\.t|bounds?|free|end|lazy|user|sec|sin|pwl|rows|"
    r"columns|rhs|ranges|name|objsense|objname|objsense|sections?|gen(erals?)?|int(egers?)?|bin(ary|aries)?|semis?|sos[12]?|"
    r"qsection|qmatrix|quadobj|qcmatrix|csection|indicators|cardinality|delayedrows|modelcuts|usercuts)\.?$|$",
    re.IGNORECASE,
)
"""Beginnings that look like a number, or words of LP or MPS files: such a name gets a sign in front."""

_LINE = 250  # signs; some readers take no longer lines than 255
Term = tuple[float, str]


def formula(
    program: PointProgram,
    variables: Mapping[str, Block],
    rows: Mapping[str, Block],
    squares: Mapping[str, Block],
    cones: Mapping[str, Block],
    shown: int | None = None,
) -> list[str]:
    """Return objective and rows as formulas, one per line: `IR-3[1]: - s[1] + s[2] >= 0`.

    At most `shown` rows, squares and cones of each block, all for None; where it is given, long sums end with "...".
    """
    linear = program.linear
    names = np.array([name for block in variables.values() for name in block.names()], dtype=np.object_)
    most = None if shown is None else _TERMS
    lines = []
    quadratic = program.quadratic if isinstance(program, ConicProgram) else program
    if isinstance(quadratic, QuadraticProgram):
        for block in squares.values():
            for number, name in _numbered(block, shown):
                part = slice(int(quadratic.square_starts[number]), int(quadratic.square_starts[number + 1]))
                pairs = zip(
                    quadratic.square_coefficients[part].tolist(), names[quadratic.square_columns[part]], strict=True
                )
                target = -float(quadratic.targets[number])
                inside = _sum(pairs, most) + (_signed(target, "") if target else "")
                weight = float(quadratic.weights[number])
                factor = "1/2" if weight == 1 else f"{weight / 2:.6g}"
                lines.append(f"{name}: {factor} ({_trimmed(inside)})^2")
    used = np.flatnonzero(linear.objective)
    if used.size:
        pairs = zip(linear.objective[used].tolist(), names[used], strict=True)
        lines.append(f"{'maximize' if linear.maximize else 'minimize'}: {_trimmed(_sum(pairs, most))}")
    for block in rows.values():
        for number, name in _numbered(block, shown):
            part = slice(int(linear.row_starts[number]), int(linear.row_starts[number + 1]))
            pairs = zip(linear.coefficients[part].tolist(), names[linear.columns[part]], strict=True)
            low, high = float(linear.row_lower[number]) + 0.0, float(linear.row_upper[number]) + 0.0  # no -0
            lines.append(f"{name}: {_between(_trimmed(_sum(pairs, most)) or '0', low, high)}")
    if isinstance(program, ConicProgram):
        lines += _cone_formulas(program, names, cones, shown)
    return lines


def _cone_formulas(
    program: ConicProgram, names: NDArray[np.object_], cones: Mapping[str, Block], shown: int | None
) -> list[str]:
    """Return each cone as a formula, such as `NA-3[1]: v[1] (2 s[1] + 0.5) >= |(3)|^2`."""
    most, first, lines = None if shown is None else _TERMS, 0, []

    def member(number: int) -> str:
        part = slice(int(program.member_starts[number]), int(program.member_starts[number + 1]))
        pairs = zip(program.member_coefficients[part].tolist(), names[program.member_columns[part]], strict=True)
        constant = float(program.constants[number])
        return _trimmed(_sum(pairs, most) + (_signed(constant, "") if constant else "")) or "0"

    for block, part in zip(cones.values(), program.blocks, strict=True):
        for number, name in _numbered(block, shown):
            at = first + (number - block.first) * part.size
            sums = [member(at + place) for place in range(part.size if most is None else min(part.size, most))]
            if len(sums) < part.size:
                sums.append("...")
            if part.kind is Cone.SECOND_ORDER:
                text = f"{sums[0]} >= |({', '.join(sums[1:])})|"
            elif part.kind is Cone.ROTATED:
                text = f"({sums[0]}) ({sums[1]}) >= |({', '.join(sums[2:])})|^2"
            elif part.kind is Cone.SEMIDEFINITE:
                text = f"({', '.join(sums)}), the lower triangle, is semidefinite"
            else:
                power = f"exp(({sums[0]}) / ({sums[1]}))"
                text = f"exp({sums[0]})" if sums[1] == "1" else f"({sums[1]}) {power}"
                text += f" <= {sums[2]}"
            lines.append(f"{name}: {text}")
        first += part.number * part.size
    return lines


def _numbered(block: Block, shown: int | None) -> Iterable[tuple[int, str]]:
    """Return numbers and names of the first columns or rows of a block."""
    return islice(zip(block.numbers.ravel().tolist(), block.names(), strict=True), shown)


def _between(total: str, low: float, high: float) -> str:
    if low == high:
        return f"{total} = {low:.10g}"
    if np.isinf(low):
        return f"{total} <= {high:.10g}"
    if np.isinf(high):
        return f"{total} >= {low:.10g}"
    return f"{low:.10g} <= {total} <= {high:.10g}"


def _sum(pairs: Iterable[Term], most: int | None) -> str:
    found = list(islice(pairs, None if most is None else most + 1))
    text = "".join(_signed(value, f" {name}") for value, name in found[:most])
    return text if most is None or len(found) <= most else f"{text} + ..."


def _signed(value: float, name: str) -> str:
    size = "" if abs(value) == 1 and name else f" {abs(value):.10g}"
    return f"{' -' if value < 0 else ' +'}{size}{name}"


def _trimmed(text: str) -> str:
    return text.removeprefix(" +").strip()


def lp_text(
    program: MixedIntegerProgram | QuadraticProgram,
    *,
    name: str = "dpopt",
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
) -> bytes:
    """Return the program as an LP file, ASCII; squares multiplied out.

    Names that are left out are x0, x1, ... and r0, r1, ...; signs that the format does not allow are replaced.
    """
    linear, goal = program.linear, MultipliedOut.of(program)
    titles = unlike(columns or [f"x{number}" for number in range(linear.number_of_variables)], LP_REPLACES)
    given = [*(rows or [f"r{number}" for number in range(linear.number_of_rows)])]
    finite = np.isfinite(linear.row_lower) & np.isfinite(linear.row_upper)
    two = finite & (linear.row_lower < linear.row_upper)
    labels = unlike([*given, *(f"{given[row]}_" for row in np.flatnonzero(two))], LP_REPLACES)
    second = iter(labels[len(given) :])
    named = np.array(titles, dtype=np.object_)
    used = np.flatnonzero(goal.costs)
    lines = [f"\\ {unlike([name], LP_REPLACES)[0]}", "maximize" if linear.maximize else "minimize"]
    terms = [_term(value, title) for value, title in zip(goal.costs[used].tolist(), named[used], strict=True)]
    if goal.rows.size:
        squares = zip(goal.coefficients.tolist(), named[goal.rows], named[goal.columns], strict=True)
        parts = [_term(2 * value, f"{one} ^2" if one == other else f"{one} * {other}") for value, one, other in squares]
        terms += ["+ [", *parts, "] / 2"]
    if goal.constant:
        terms.append(f"{'-' if goal.constant < 0 else '+'} {abs(goal.constant)!r}")
    lines += [" objective:", *_wrapped(terms or [_term(0.0, titles[0])] if titles else []), "subject to"]
    starts = linear.row_starts.tolist()
    found = [
        _term(value, title) for value, title in zip(linear.coefficients.tolist(), named[linear.columns], strict=True)
    ]
    sides = zip(labels[: len(given)], linear.row_lower.tolist(), linear.row_upper.tolist(), strict=True)
    for place, (label, low, high) in enumerate(sides):
        row = found[starts[place] : starts[place + 1]] or [_term(0.0, titles[0])]
        written = _wrapped(row)
        if low == high:
            lines += [f" {label}:", *written, f"  = {low!r}"]
            continue
        if np.isfinite(high):
            lines += [f" {label}:", *written, f"  <= {high!r}"]
        if np.isfinite(low):
            lines += [f" {next(second) if np.isfinite(high) else label}:", *written, f"  >= {low!r}"]
    lines.append("bounds")
    bounds = zip(titles, linear.lower.tolist(), linear.upper.tolist(), strict=True)
    lines += [_bound(title, low, high) for title, low, high in bounds]
    whole = named[linear.integrality].tolist()
    if whole:
        lines += ["general", *(f" {title}" for title in whole)]
    return "\n".join([*lines, "end", ""]).encode("ascii")


def _term(value: float, name: str) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value)!r} {name}"


def _wrapped(terms: Sequence[str]) -> list[str]:
    lines = [""]
    for term in terms:
        if len(lines[-1]) + len(term) > _LINE:
            lines.append("")
        lines[-1] += f"  {term}"
    return lines


def _bound(title: str, low: float, high: float) -> str:
    if low == high:
        return f" {title} = {low!r}"
    if np.isinf(low) and np.isinf(high):
        return f" {title} free"
    if np.isinf(low):
        return f" -infinity <= {title} <= {high!r}"
    return f" {low!r} <= {title}" + (f" <= {high!r}" if np.isfinite(high) else "")


def unlike(names: Sequence[str], replaces: Mapping[int, str | int]) -> list[str]:
    """Return names that files hold and readers tell apart, with a number at the end of those that would be alike."""
    used, times = {"objective"}, Counter[str]()
    result = []
    for name in names:
        title = name.encode("ascii", "backslashreplace").decode().translate(replaces)[:_LONGEST]
        title = found = f"_{title}" if _NO_NAME.match(title) else title
        while found in used:
            times[title] += 1
            found = f"{title}.{times[title]}"
        used.add(found)
        result.append(found)
    return result
