"""Texts that have an order of their own: answers on a scale, days, months, and texts that begin with numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SCALES = """
strongly disagree, totally disagree, completely disagree, fully disagree | disagree, mostly disagree, tend to disagree | \
somewhat disagree, slightly disagree, rather disagree | neutral, neither agree nor disagree, neither, undecided, unsure | \
somewhat agree, slightly agree, rather agree | agree, mostly agree, tend to agree | \
strongly agree, totally agree, completely agree, fully agree
very dissatisfied, very unsatisfied | dissatisfied, unsatisfied | somewhat dissatisfied, slightly dissatisfied | \
neutral, neither satisfied nor dissatisfied, neither | somewhat satisfied, slightly satisfied | satisfied | very satisfied
never | almost never, hardly ever, very rarely | rarely, seldom | occasionally | sometimes | often, frequently | \
usually, very often, mostly | almost always, nearly always | always
never | yearly, annually | quarterly | monthly | weekly | daily | hourly
no | perhaps, maybe, unsure, undecided | yes
very poor, very bad, terrible | poor, bad | fair, acceptable | average, ok, okay, neutral | good | very good | excellent
none, zero | very low | low | medium, moderate, middle, average, normal | high | very high | extremely high, extreme
not at all | slightly, a little, a little bit, very little | somewhat | moderately | quite a bit, quite | \
very, very much, a lot | extremely
very unlikely, extremely unlikely | unlikely | somewhat unlikely | neutral, unsure | somewhat likely | likely | \
very likely, extremely likely
not important, not at all important, unimportant | slightly important | somewhat important, moderately important | \
important | very important | extremely important, essential
none, no | mild, slight, minor | moderate | severe, serious, major | very severe, critical | fatal
xxs | xs | s, small | m, medium | l, large | xl, extra large | xxl | xxxl
much worse | worse, somewhat worse | same, the same, about the same | better, somewhat better | much better
none, no education | primary, elementary | secondary, high school | some college | \
college, bachelor, bachelors, bachelor's, bachelor's degree | master, masters, master's, master's degree | doctorate, phd
trifft nicht zu, stimme überhaupt nicht zu, stimme gar nicht zu | trifft eher nicht zu, stimme eher nicht zu, \
stimme nicht zu | teils teils, teils/teils, weder noch | trifft eher zu, stimme eher zu | trifft zu, stimme zu | \
trifft voll zu, stimme voll zu, stimme voll und ganz zu
nie | sehr selten | selten | manchmal, gelegentlich | oft, häufig | sehr oft, meistens | immer
monday, mon | tuesday, tue | wednesday, wed | thursday, thu, thur | friday, fri | saturday, sat | sunday, sun
january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug | \
september, sep, sept | october, oct | november, nov | december, dec
"""
"""On each line a scale, from the least answer on; answers between commas say the same."""
_RANKS = tuple(
    {word.strip(): rank for rank, words in enumerate(scale.split("|")) for word in words.split(",")}
    for scale in _SCALES.strip().splitlines()
)
_NO_ANSWERS = """
don't know | do not know | dont know | no answer | no opinion | prefer not to say | prefer not to answer | refused | \
not applicable | n/a | unknown | other | not stated | not sure | weiß nicht | keine angabe
"""
_BELOW, _ABOVE = ("<", "≤", "under", "less than", "below"), (">", "≥", "over", "more than", "above")
_NUMBERED = re.compile(
    r"[\s(\[]*(?:(under|less than|below|<|≤|over|more than|above|>|≥|up to|at least|from|grade|class|level|stage)[\s=]*)?[$€£]?"
    r"(\d[\d,]*(?:\.\d+)?)(?!\w|[.,]\d)"
)


def in_their_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return at least three texts in the order that they have of themselves, answers such as "don't know" last.

    None where they are no answers of one known scale, and do not begin with different numbers, such as "1 - never".

    Examples
    --------
    >>> in_their_order(["Agree", "Disagree", "Don't know", "Strongly agree"])
    ('Disagree', 'Agree', 'Strongly agree', "Don't know")
    >>> in_their_order(["10 and more", "2-9", "under 2"]), in_their_order(["red", "green", "blue"])
    (('under 2', '2-9', '10 and more'), None)
    """
    plain = {text: " ".join(text.replace("_", " ").replace("’", "'").split()).casefold() for text in values}
    without = _NO_ANSWERS.strip().split(" | ")
    answers = [text for text in values if plain[text] not in without]
    if len(answers) < 3:
        return None
    found: list[list[Any]] = [_numbers(answers), *([ranks.get(plain[text]) for text in answers] for ranks in _RANKS)]
    places = next((some for some in found if None not in some and len({*some}) == len(some)), None)
    if places is None:
        return None
    order = sorted(range(len(answers)), key=places.__getitem__)
    return (*(answers[place] for place in order), *(text for text in values if plain[text] in without))


def _numbers(texts: Sequence[str]) -> list[tuple[float, int] | None]:
    """Return the numbers that texts begin with, and whether values below or above are meant: -1 or 1, else 0."""
    found = (_NUMBERED.match(text.casefold()) for text in texts)
    return [
        None if one is None else (float(one[2].replace(",", "")), (one[1] in _ABOVE) - (one[1] in _BELOW))
        for one in found
    ]
