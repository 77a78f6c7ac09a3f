"""Wrong literal: truth values, None, small numbers, containers and their elements, and what a value is turned into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_condition, is_load

NAME = "literal"
MOST_ELEMENTS = 12
EMPTY = {ast.List: "[]", ast.Dict: "{}", ast.Set: "set()", ast.Tuple: "()"}


def truth(site: Site) -> Iterator[Edit]:
    """``True``, ``False`` and ``None`` for each other."""
    node = site.node
    assert isinstance(node, ast.Constant)
    choices = {True: ("False", "None"), False: ("True", "None"), None: ("False", "True", "0", "''", "[]", "{}")}
    if node.value is not None and not isinstance(node.value, bool):
        return
    risk = 2 if is_condition(site) else 0
    for rank, text in enumerate(choices[node.value]):
        yield from site.replace(node, text, NAME, 1.2 + 0.3 * rank, risk=risk)


def number(site: Site) -> Iterator[Edit]:
    """A number by 0, 1, -1, 2, its double, its half, ten times, a tenth, and the other number type."""
    node = site.node
    assert isinstance(node, ast.Constant)
    if type(node.value) not in {int, float} or isinstance(site.parent, ast.UnaryOp):
        return
    value = node.value
    assert isinstance(value, (int, float))
    choices: list[tuple[float, object]] = [(1.6, 0), (1.6, 1), (1.8, -1), (1.8, 2), (1.9, value * 10)]
    choices += [(2.0, value * 2), (2.0, -value), (2.2, value * 100)]
    if isinstance(value, int) and value % 10 == 0:
        choices.append((1.9, value // 10))
    if isinstance(value, int) and value % 2 == 0:
        choices.append((2.0, value // 2))
    if isinstance(value, float):
        choices.append((1.9, value / 10))
        choices.append((2.2, value / 100))
    choices.append((2.3, float(value) if isinstance(value, int) and abs(value) < 1 << 53 else None))
    choices.append((2.4, None))
    for cost, choice in choices:
        risk = 2 if is_condition(site) else 0
        # A fraction was chosen with more care than a whole number.
        later = 0.0 if isinstance(value, int) else 0.5
        yield from site.replace(node, repr(choice), NAME, cost + later, risk=risk)


def text(site: Site) -> Iterator[Edit]:
    """A string by the empty one, by a space, or in the other case; the separators of each other."""
    node = site.node
    assert isinstance(node, ast.Constant)
    value = node.value
    if not isinstance(value, str) or len(value) > 80:
        return
    choices = [(1.9, ""), (2.0, " ")]
    for group in (",;:|", " \n\t", "/\\", "-_", ".,"):
        if value in group and value:
            choices += [(1.7, other) for other in group if other != value]
    variants = (value.lower(), value.upper(), value.strip(), f"{value} ", f"{value}\n", f"{value}s", value.rstrip("s"))
    choices += [(2.1, other) for other in variants if other != value]
    for cost, choice in choices:
        yield from site.replace(node, repr(choice), NAME, cost)


def container(site: Site) -> Iterator[Edit]:
    """An empty container by another, by None, or by one that holds itself: ``[]`` to ``[[]]``."""
    node = site.node
    assert isinstance(node, (ast.List, ast.Dict, ast.Set, ast.Tuple))
    if not is_load(node):
        return
    size = len(node.keys) if isinstance(node, ast.Dict) else len(node.elts)
    own = EMPTY[type(node)]
    if size == 0:
        for rank, choice in enumerate(("[]", "{}", "set()", "()", "None", "''", "0")):
            yield from site.replace(node, choice, NAME, 1.6 + 0.1 * rank)
        if isinstance(node, ast.List):
            yield from site.replace(node, "[[]]", NAME, 1.7)
            yield from site.replace(node, "[0]", NAME, 1.9)
            yield from site.replace(node, "[None]", NAME, 2.2)
    elif not isinstance(site.parent, (ast.For, ast.comprehension)):
        yield from site.replace(node, own, NAME, 2.2, risk=1)


def filled(site: Site) -> Iterator[Edit]:
    """An empty list by one that holds a name in scope: ``[]`` to ``[n]``."""
    node = site.node
    assert isinstance(node, ast.List)
    if node.elts or site.function is None or not is_load(node):
        return
    for donor in site.donors.names(site.source, node)[:12]:
        if donor.text in site.donors.locals(site.function):
            yield from site.replace(node, f"[{donor.text}]", NAME, 1.9 + donor.penalty, donor=donor.origin)


def fewer(site: Site) -> Iterator[Edit]:
    """A container without one of its elements; a tuple of one element, which a stray comma makes, to the element."""
    node = site.node
    assert isinstance(node, (ast.List, ast.Set, ast.Tuple))
    if not is_load(node) or isinstance(site.parent, ast.Subscript):
        return
    places = [site.source.outer(element) for element in node.elts]
    if isinstance(node, ast.Tuple) and len(places) == 1 and not isinstance(node.elts[0], ast.Starred):
        start, end = places[0][1], site.source.span(node)[1]
        yield from site.rewrite(start, end, site.source.text[start:end].replace(",", "", 1), NAME, 1.7)
    comma = "," if isinstance(node, ast.Tuple) and len(places) == 2 and not _ends_with_comma(site, places[1][1]) else ""
    for number in range(min(len(places), MOST_ELEMENTS) if len(places) > 1 else 0):
        before, place, after = places[max(number - 1, 0)], places[number], places[min(number + 1, len(places) - 1)]
        kept = site.source.text[slice(*(before if number else after))] + comma
        start, end = (before[0], place[1]) if number else (place[0], after[1])
        yield from site.rewrite(start, end, kept, NAME, 2.1)


def _ends_with_comma(site: Site, start: int) -> bool:
    """Whether the tuple of the site ends with a comma already; those in comments do not count."""
    return "," in re.sub("#.*", "", site.source.text[start : site.source.span(site.node)[1]])


def default(site: Site) -> Iterator[Edit]:
    """A name, attribute or element that is passed or returned, by a small literal."""
    node = site.node
    assert isinstance(node, ast.expr)
    if not is_load(node) or site.field not in {"args", "value", "comparators", "test", "right", "left"}:
        return
    if isinstance(site.parent, (ast.Attribute, ast.Subscript, ast.Starred, ast.Expr, ast.Await)):
        return
    for rank, choice in enumerate(("0", "1", "None", "True", "False", "''", "[]", "{}")):
        risk = 2 if is_condition(site) or site.field == "test" else 1
        yield from site.replace(node, choice, NAME, 2.4 + 0.1 * rank, risk=risk)


TEMPLATES = (
    Template(NAME, (ast.Constant,), 1.2, lambda site: by_cost(truth(site))),
    Template(NAME, (ast.Constant,), 1.6, lambda site: by_cost(number(site))),
    Template(NAME, (ast.Constant,), 1.7, lambda site: by_cost(text(site))),
    Template(NAME, (ast.List, ast.Dict, ast.Set, ast.Tuple), 1.6, lambda site: by_cost(container(site))),
    Template(NAME, (ast.List, ast.Set, ast.Tuple), 1.7, lambda site: by_cost(fewer(site))),
    Template(NAME, (ast.List,), 1.9, lambda site: by_cost(filled(site))),
    Template(NAME, (ast.Name, ast.Attribute, ast.Subscript, ast.Call), 2.4, default, wide=True),
)
