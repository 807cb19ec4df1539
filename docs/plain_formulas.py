"""Formulas that are plain text in the pages of models and experiments, where code and tests share it, as LaTeX for the site."""

from __future__ import annotations

import re
from collections.abc import Iterator

_GREEK = "alpha beta gamma delta epsilon eta theta kappa lambda omega phi pi rho sigma tau zeta"
GREEK = frozenset(_GREEK.split())
OPERATORS = {
    **{name: f"\\{name}" for name in ("exp", "ln", "log", "max", "min", "sin", "sum", "prod", "int")},
    **{name: f"\\operatorname{{{name}}}" for name in ("diag", "tr", "abs", "floor", "round")},
}
SIGNS = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "<-": r"\leftarrow", "...": r"\dots", "*": r"\cdot", ".": r"\cdot"}
SIGNS |= {
    "{": r"\lbrace",
    "}": r"\rbrace",
    r"\|": r"\vert",
    "&#124;": r"\vert",
    "in": r"\in",
    "containing": r"\supseteq",
}
TOKEN = re.compile(
    r"\s+|[A-Za-z]+'s\b|[A-Za-z]{2,}(?:-[A-Za-z]{2,})+|&#124;|\\\||<=|>=|!=|<-|\.\.\.|\.\.|\d[\d,]*\d(?:\.\d+)?|\d*\.?\d+|[A-Z]{2}-\d+|[A-Za-z]+\d*'*|.",
    re.DOTALL,
)
RELATIONS = frozenset(["=", "<=", ">=", "<", ">", "+", "-", "/", "^"])
WORDS = frozenset(("if", "and", "or", "for", "in", "with", "minimize", "maximize"))
VARIABLES = frozenset(("lit", "p0", "dt"))
SUMS = frozenset(("sum", "prod", "max", "min", "abs", "round"))
"""Words as well as signs."""
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
NAME = re.compile(r"[A-Za-z]+\d*'*")
_BRACKETS = r"\([^()]*\)|\{[^{}]*\}"
_SCRIPT = rf"(?:(?:_(?:[A-Za-z]'?|\d{{1,2}}|[A-Za-z0-9]{{2,3}}|{_BRACKETS})|\^(?:-?\w+(?:\.\d+)?|{_BRACKETS}))(?!\w))"
_ARGUMENTS = r"(?:\([^()\s]+(?:, [^()\s]+)*\))?"
_SCRIPTED = rf"(?:\d+/)?(?:[A-Za-z]{{1,7}}'*|\d+){_SCRIPT}+{_ARGUMENTS}"
_ATOM = rf"(?:{_SCRIPTED}|\d+(?:,\d{{3}})*(?:\.\d+)?|[B-Zb-z]'*{_ARGUMENTS})(?![\w'-])"
_JOINT = rf"(?: (?:[=+/*<>-]|<=|>=|!=) | (?={_SCRIPTED}))"
_IN_PROSE = re.compile(rf"(?<![\w$^/.{{'-])(?:{_ATOM}{_JOINT})*{_SCRIPTED}(?:{_JOINT}{_ATOM})*(?![\w^(])")
_NOT_PROSE = re.compile(
    r"(```.*?^```|^\$\$.*?^\$\$|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[a-z/!][^>]*>|^\|.*?$|^#.*?$)", re.DOTALL | re.MULTILINE
)


def with_formulas(page: str) -> str:
    """Return a page of the catalogue in which the cells of its tables of formulas are marked."""
    lines, formulas = page.split("\n"), False
    for number, line in enumerate(lines):
        cells = re.split(r"(?<!\\)\|", line)
        formulas = line.startswith("|") and (formulas or "formula" in map(str.strip, cells))
        if formulas and re.fullmatch(r" [A-Z]{2}-\d+ *", cells[1]):
            lines[number] = "|".join([*cells[:2], *(f" {marked(cell.strip())} " for cell in cells[2:-1]), cells[-1]])
    return "\n".join(lines)


def with_scripts(page: str) -> str:
    """Return a page in which the formulas of its prose that have an index or an exponent are marked, and signs are drawn."""
    parts = _NOT_PROSE.split(page)
    for place in range(0, len(parts), 2):  # the others are code, formulas, addresses, tables and headings
        parts[place] = _IN_PROSE.sub(lambda found: f"${latex(found[0])}$", parts[place])
        parts[place] = re.sub(
            rf"(?<=[)|\]])\^(-?\d+|{_BRACKETS})(?!\w)",
            lambda found: f"${{}}^{{{latex(found[1].strip('(){}'))}}}$",
            parts[place],
        )
        for plain, sign in (("<=", "≤"), (">=", "≥"), ("!=", "≠")):
            parts[place] = re.sub(rf"(?<!\S){plain}(?=\s)", sign, parts[place])
    return "".join(parts)


def marked(text: str) -> str:
    """Return a cell in which each formula between words stands in the signs of a formula."""
    tokens = TOKEN.findall(text)
    runs: list[tuple[bool, list[str]]] = []
    for place, token in enumerate(tokens):
        formula = _is_formula(tokens, place) if not token.isspace() else bool(runs) and runs[-1][0]
        if not runs or runs[-1][0] is not formula:
            runs.append((formula, []))
        runs[-1][1].append(token)
    return "".join(_run(run) if formula else "".join(run) for formula, run in runs)


def _is_formula(tokens: list[str], place: int) -> bool:
    """Return whether a token belongs to a formula: words do where a sign or an index joins them to one."""
    word, following = tokens[place], tokens[place + 1 : place + 2]
    if not NAME.fullmatch(word):
        open_brackets = tokens[:place].count("(") > tokens[:place].count(")")
        return open_brackets if word == ";" else word not in {":", '"'} and not re.match(r"[A-Za-z]+['-]", word)
    if tokens[place - 1 : place] in (["_"], ["^"]) or _inside_script(tokens[:place]):
        return True
    after = next((one for one in tokens[place + 1 :] if not one.isspace()), "")
    before = next((one for one in reversed(tokens[:place]) if not one.isspace()), ",")
    if word in SUMS:
        return after in {"_", "("} or (len(after) == 1 and after.isalpha()) or after in {"lit", "both"}
    if word in {"a", "A"} and (before in ",;:" or NAME.fullmatch(before)) and re.match("[A-Za-z]{2}", after):
        return False  # an article, or a variable between words
    known = len(word.rstrip("'")) == 1 or word in VARIABLES | GREEK | OPERATORS.keys() or word.endswith("'")
    joined = word not in WORDS and (after in RELATIONS or before in RELATIONS or (before, word) == ("sum", "both"))
    return known or joined or following in (["_"], ["("])


def _inside_script(tokens: list[str]) -> bool:
    """Return whether an index or an exponent in brackets is still open."""
    opened: list[bool] = []
    for before, piece in zip(["", *tokens], tokens, strict=False):
        if piece in OPENING:
            opened.append(before in {"_", "^"})
        elif piece in CLOSING and opened:
            opened.pop()
    return any(opened)


def _run(tokens: list[str]) -> str:
    """Return a formula in its signs; blanks, commas and brackets of the words around it stand outside of them."""
    text = "".join(tokens)
    inner = text.strip(" ,.")
    if inner.count("(") > inner.count(")"):
        inner = inner.rstrip("( ,")
    if inner.count(")") > inner.count("("):
        inner = inner.removesuffix(")")
    if not re.search(r"[A-Za-z0-9]", inner) or inner.isdigit():
        return text
    start = text.index(inner)
    return f"{text[:start]}${latex(inner)}${text[start + len(inner) :]}"


def latex(text: str) -> str:
    """Return a formula of plain text, as in "sum_{i <= r} d_i", in LaTeX."""
    parts = _parts(TOKEN.findall(text))
    return re.sub(r"\s+", " ", " ".join(parts)).replace(" _", "_").replace(" ^", "^").strip()


def _parts(tokens: list[str]) -> Iterator[str]:
    place = 0
    while place < len(tokens):
        piece = tokens[place]
        if piece in {"_", "^"}:
            script, place = _script(tokens, place + 1)
            yield piece + script
            continue
        if piece == "[" and place and NAME.fullmatch(tokens[place - 1]):  # x[a, v] is an x with two indices
            end = _closing(tokens, place)
            yield f"_{{{latex(''.join(tokens[place + 1 : end]))}}}"
            place = end
        elif piece in {"abs", "sqrt"} and tokens[place + 1 : place + 2] == ["("]:
            end = _closing(tokens, place + 1)
            inner = latex("".join(tokens[place + 2 : end]))
            yield rf"\sqrt{{{inner}}}" if piece == "sqrt" else rf"\vert {inner} \vert"
            place = end
        else:
            yield _sign_or_name(piece)
        place += 1


def _script(tokens: list[str], place: int) -> tuple[str, int]:
    """Return an index or exponent, and the place after it."""
    piece, rest = tokens[place], tokens[place + 1 :]
    if piece in {"(", "{"}:
        end = _closing(tokens, place)
        inner = "".join(tokens[place + 1 : end])
        bounds = re.fullmatch(r"(\w=\w)\.\.(\w)", inner)
        return (f"{{{bounds[1]}}}^{bounds[2]}" if bounds else f"{{{latex(inner)}}}"), end + 1
    if SIGNS.get(piece) == r"\vert":
        end = place + 1 + rest.index(piece)
        return f"{{{latex(''.join(tokens[place : end + 1]))}}}", end + 1
    if piece in {"+", "-"}:
        signed = rest and re.match(r"[\w.]", rest[0])
        return (f"{{{piece}{rest[0]}}}", place + 2) if signed else (f"{{{piece}}}", place + 1)
    name = piece.rstrip("'")
    shown = _sign_or_name(name) if name in GREEK or len(name) > 3 else name
    if rest[:1] == ["_"]:
        index, place = _script(tokens, place + 2)
        return f"{{{shown}_{index}}}", place
    return f"{{{shown}}}{piece[len(name) :]}", place + 1


def _closing(tokens: list[str], place: int) -> int:
    """Return the place of the bracket that closes the one at this place."""
    depth = 0
    for end in range(place, len(tokens)):
        depth += (tokens[end] in OPENING) - (tokens[end] in CLOSING)
        if depth == 0:
            return end
    raise ValueError(f"{''.join(tokens)!r} has a bracket that nothing closes")


def _sign_or_name(piece: str) -> str:
    if piece in SIGNS or piece in OPERATORS:
        return SIGNS.get(piece) or OPERATORS[piece]
    if piece in GREEK:
        return r"\varepsilon" if piece == "epsilon" else f"\\{piece}"
    if piece == "p0":
        return "{p^0}"
    if NAME.fullmatch(piece) and len(piece.rstrip("'")) > 1:
        name = piece.rstrip("'")
        return rf"\text{{{name}}}" + piece[len(name) :]
    return piece.replace(",", "{,}") if piece[:1].isdigit() else piece
