"""Formulas of the site as MathML: browsers draw it without a script and without a network.

A formula in a line may be broken where a sign of the outermost level stands, as text is between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.application import Sphinx
from sphinx.util import logging

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
BREAKS_AFTER = frozenset("=<>≤≥≠≈∝∈→←↦,;+−·")
FUNCTIONS, THIN = frozenset(("cos", "exp", "ln", "log", "sin", "tanh")), "0.17em"
SIGNS = BREAKS_AFTER | OPENING | CLOSING | {"|"}
GLUED_BEFORE, GLUED_AFTER = re.compile(r"""[(\["']+$"""), re.compile(r"[^\s]{1,12}")
"""What stands beside a formula without a blank, on one line with it."""


def mathml(latex: str, *, display: str = "inline") -> list[str]:
    """Return a formula as elements `math`: one for a formula that stands alone, one for each part of another."""
    root = convert_to_element(latex, display=display)
    for element in root.iter():
        element.text = unescape(element.text or "")
        if element.tag == "mtext":  # which counts as a blank, and takes its space from a sign beside it
            element.tag = "mi"
    for row in root.iter("mrow"):
        _space_names(list(row))
    children = list(root[0])
    parts = [children] if display == "block" else list(_parts(children))
    return [ET.tostring(_element(root, part), encoding="unicode") for part in parts]


def _space_names(children: list[ET.Element]) -> None:
    """Set a thin space around names of functions, none before a bracket and none at the beginning."""
    for place, child in enumerate(children):
        name = child[0] if child.tag in {"msub", "msup", "msubsup", "munder"} and len(child) else child
        if (name.tag == "mo" and len(name.text or "") > 1) or name.text in FUNCTIONS:
            bracket = place + 1 < len(children) and children[place + 1].text in OPENING
            name.tag = "mo"
            name.attrib.update(form="prefix", lspace=THIN if place else "0", rspace="0" if bracket else THIN)


def _parts(children: list[ET.Element]) -> Iterator[list[ET.Element]]:
    """Split a row after signs that stand outside of brackets, between two operands."""
    part: list[ET.Element] = []
    depth, bars, before = 0, 0, ""
    for child in children:
        sign = child.text if child.text in SIGNS else ""
        depth += (sign in OPENING) - (sign in CLOSING)
        bars += sign == "|"
        joins = sign in BREAKS_AFTER and part != [] and before in {"", "|", *CLOSING}
        if joins or sign in {"+", "−"}:
            child.set("form", "infix" if joins else "prefix")
        part.append(child)
        if joins and depth <= 0 and bars % 2 == 0:
            yield part
            part = []
        before = sign
    if part:
        yield part


def _element(root: ET.Element, children: list[ET.Element]) -> ET.Element:
    element = ET.Element(root.tag, root.attrib)
    ET.SubElement(element, "mrow").extend(children)
    return element


def _visit(translator: Any, node: nodes.Element) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        drawn = mathml(node.astext(), display="block" if block else "inline")
    except Exception as error:  # whatever the converter raises, the page is wrong
        logging.getLogger(__name__).warning("no formula: %s (%r)", node.astext(), error, location=node)
        raise nodes.SkipNode from error
    if block:
        translator.body.append(f'<div class="formula">{drawn[0]}</div>\n')
        raise nodes.SkipNode
    drawn[0] = escape(node.get("before", "")) + drawn[0]
    drawn[-1] += escape(node.get("after", ""))
    translator.body.extend(f'<span class="formula">{part}</span>' for part in drawn)
    raise nodes.SkipNode


def _glue(_: Sphinx, document: nodes.document) -> None:
    """Keep brackets and full stops with their formulas: browsers break a line beside a formula."""
    for node in document.findall(nodes.math):
        beside = {"before": node.previous_sibling(), "after": node.next_node(descend=False, siblings=True)}
        for side, text in beside.items():
            if not isinstance(text, nodes.Text):
                continue
            found = GLUED_BEFORE.search(text) if side == "before" else GLUED_AFTER.match(text)
            if found:
                node[side] = found[0]
                rest = text[: found.start()] if side == "before" else text[found.end() :]
                text.parent.replace(text, nodes.Text(rest))


def register(app: Sphinx) -> None:
    """Let Sphinx draw formulas in this way."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit, None), block_renderers=(_visit, None))
    app.connect("doctree-read", _glue)
