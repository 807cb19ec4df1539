"""Formulas of the site as MathML: browsers draw it without a script and without a network.

A formula in a line may be broken where a sign of the outermost level stands, as text is between words.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.application import Sphinx
from sphinx.util import logging

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
BREAKS_AFTER = frozenset("=<>≤≥≠≈∝∈→←↦,;+−·")
SIGNS = BREAKS_AFTER | OPENING | CLOSING | {"|"}
JOINER = "\N{WORD JOINER}"


def mathml(latex: str, *, display: str = "inline") -> str:
    """Return a formula as elements `math`: one for a formula that stands alone, one for each part of another."""
    root = convert_to_element(latex, display=display)
    for element in root.iter():
        element.text = unescape(element.text or "")
    children = list(root[0])
    parts = [children] if display == "block" else list(_parts(children))
    return "".join(ET.tostring(_element(root, part), encoding="unicode") for part in parts)


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
    after = node.next_node(descend=False, siblings=True)
    glued = isinstance(after, nodes.Text) and not after.astext()[:1].isspace()
    translator.body.append(f'<div class="formula">{drawn}</div>\n' if block else drawn + JOINER * glued)
    raise nodes.SkipNode


def register(app: Sphinx) -> None:
    """Let Sphinx draw formulas in this way."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit, None), block_renderers=(_visit, None))
