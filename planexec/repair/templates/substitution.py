"""Wrong word: a name, attribute, method, function, constant, key or keyword replaced by one seen elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.donors import BUILTINS
from planexec.repair.edits import Edit
from planexec.repair.mentions import last_word
from planexec.repair.precedence import ATOM
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_load

NAME = "substitute"
KEY_METHODS = {"get", "pop", "setdefault", "getlist"}


def name(site: Site) -> Iterator[Edit]:
    """A name by another that is in scope; a called one by what can be called."""
    node = site.node
    assert isinstance(node, ast.Name)
    called = isinstance(site.parent, ast.Call) and site.field == "func"
    decorator = site.field in {"decorator_list", "bases"}
    base = 1.3 if is_load(node) else 1.9
    beside = {each.id for each in ast.iter_child_nodes(site.parent) if isinstance(each, ast.Name)}
    donors = site.donors.names(site.source, node, called=called or decorator)
    # ``x == x`` and ``f(x, x)`` are seldom meant.
    ranked = [(base + each.penalty + 0.4 * (each.text in beside), each.text, each.origin) for each in donors]
    for cost, text, origin in sorted(ranked):
        yield from site.replace(node, text, NAME, cost, donor=origin)


def attribute(site: Site) -> Iterator[Edit]:
    """An attribute or method by one seen on the same receiver, or elsewhere."""
    node = site.node
    assert isinstance(node, ast.Attribute)
    base = 1.3 if is_load(node) else 1.8
    _, end = site.source.span(node)
    if site.source.text[end - len(node.attr) : end] != node.attr:
        return
    for donor in site.donors.attributes(site.source, node, last_word(node.value)):
        yield from site.rewrite(end - len(node.attr), end, donor.text, NAME, base + donor.penalty, donor=donor.origin)


def owner(site: Site) -> Iterator[Edit]:
    """``x`` to ``self.x`` where the class has such an attribute, ``self.x`` and ``a.x`` to ``x``, ``a.x`` to ``a``."""
    node = site.node
    if isinstance(node, ast.Name) and is_load(node) and site.function is not None:
        first = (site.function.args.posonlyargs + site.function.args.args)[:1]
        if first and first[0].arg in {"self", "cls"} and node.id != first[0].arg:
            known = {each.text for each in site.donors.module(site.source).of("attribute") if each.stored}
            if node.id in known or node.id not in site.donors.locals(site.function):
                yield from site.replace(node, f"{first[0].arg}.{node.id}", NAME, 1.4)
    elif isinstance(node, ast.Attribute) and is_load(node):
        if site.function is not None and node.attr in site.donors.locals(site.function):
            yield from site.replace(node, node.attr, NAME, 1.4)
        if not (isinstance(site.parent, ast.Call) and site.field == "func"):
            yield from site.replace(node, site.text(node.value), NAME, 2.0)


def member(site: Site) -> Iterator[Edit]:
    """``x`` to ``x.a`` for attributes that are read on a receiver of that name in the module."""
    node = site.node
    assert isinstance(node, ast.Name)
    receiver = isinstance(site.parent, (ast.Attribute, ast.Call)) and site.field in {"func", "value"}
    if receiver or not is_load(node):
        return
    seen: dict[str, int] = {}
    for each in site.donors.module(site.source).of("attribute"):
        if each.receiver == node.id:
            seen.setdefault(each.text, each.line)
    called = {each.text for each in site.donors.module(site.source).of("call")}
    for text, line in list(seen.items())[:20]:
        origin = f"{site.source.path}:{line}"
        if text in called:
            yield from site.replace(node, f"{node.id}.{text}()", NAME, 2.0, donor=origin)
        else:
            yield from site.replace(node, f"{node.id}.{text}", NAME, 1.8, donor=origin)


def key(site: Site) -> Iterator[Edit]:
    """A key of a dictionary by one written or read elsewhere; the other half of a slip comes before all else."""
    node = site.node
    place = _key_place(site)
    if place is not None and isinstance(node, ast.Constant) and isinstance(node.value, str):
        receiver, stored = place
        for donor in site.donors.keys(site.source, node.value, receiver, stored=stored):
            text = _quoted(site, donor.text)
            yield from site.replace(node, text, NAME, 1.3 + donor.penalty, donor=donor.origin)


def constant(site: Site) -> Iterator[Edit]:
    """A written number, string or bytes by another of the same type."""
    node = site.node
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, bool) or not isinstance(node.value, (str, bytes, int, float)):
        return
    base = 1.6 if _key_place(site) is None else 2.2
    for donor in site.donors.constants(site.source, node.value, site.function):
        text = donor.text if not isinstance(node.value, str) else _quoted(site, ast.literal_eval(donor.text))
        yield from site.replace(node, text, NAME, base + donor.penalty, donor=donor.origin)


def named(site: Site) -> Iterator[Edit]:
    """A written number or string by a name in scope that is no callable."""
    node = site.node
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, (bool, type(None), type(...))) or isinstance(site.parent, (ast.UnaryOp, ast.JoinedStr)):
        return
    for donor in site.donors.names(site.source, node)[:20]:
        if donor.penalty < 0.7:
            yield from site.replace(node, donor.text, NAME, 2.0 + donor.penalty, donor=donor.origin)


def keyword(site: Site) -> Iterator[Edit]:
    """The name of a keyword argument by one that calls of the same function use or that it declares."""
    node = site.node
    assert isinstance(node, ast.Call)
    present = {each.arg for each in node.keywords}
    for each in node.keywords:
        if each.arg is None:
            continue
        start, _ = site.source.span(each)
        if not site.source.text.startswith(each.arg, start):
            continue
        for donor in site.donors.keywords(last_word(node.func)):
            if donor.text not in present:
                yield from site.rewrite(
                    start, start + len(each.arg), donor.text, NAME, 1.4 + donor.penalty, donor=donor.origin
                )


def expression(site: Site) -> Iterator[Edit]:
    """A name, attribute or element by an attribute, element or call that the same function already writes."""
    node = site.node
    assert isinstance(node, ast.expr)
    if site.function is None or (isinstance(site.parent, ast.Call) and site.field == "func"):
        return
    target = not is_load(node)
    if target and isinstance(node, ast.Name):
        return
    own = site.source.segment(node)
    kinds = (ast.Attribute, ast.Subscript) if target else (ast.Attribute, ast.Subscript, ast.Call, ast.Name)
    seen: dict[str, int] = {}
    for each in ast.walk(site.function):
        if not isinstance(each, kinds) or not is_load(each):
            continue
        text = site.source.segment(each)
        known = isinstance(each, ast.Name) and isinstance(node, ast.Name)  # those are what ``name`` yields
        if len(text) <= 40 and "\n" not in text and text != own and not known:
            seen.setdefault(text, each.lineno)
    for text, line in sorted(seen.items(), key=lambda item: (abs(item[1] - node.lineno), item[0]))[:40]:
        cost = 2.0 + 0.4 * target + min(0.4, 0.02 * abs(line - node.lineno))
        yield from site.replace(node, text, NAME, cost, donor=f"{site.source.path}:{line}")


def _key_place(site: Site) -> tuple[str, bool] | None:
    """Receiver and direction where the string is a key; None elsewhere."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    match parent:
        case ast.Subscript() if site.field == "slice":
            return last_word(parent.value), isinstance(parent.ctx, ast.Store)
        case ast.Dict() if site.field == "keys":
            return "", True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]) if site.field == "left":
            return last_word(parent.comparators[0]), False
        case ast.Call(func=ast.Attribute()) if parent.args[:1] == [node]:
            assert isinstance(parent.func, ast.Attribute)
            if parent.func.attr in KEY_METHODS:
                return last_word(parent.func.value), parent.func.attr == "setdefault"
    return None


def _quoted(site: Site, value: str) -> str:
    """``value`` as a literal with the quotes of the one that it replaces."""
    old = site.source.segment(site.node)
    text = repr(value)
    if old.startswith('"') and text.startswith("'") and '"' not in value:
        return f'"{text[1:-1]}"'.replace("\\'", "'")
    return text


def function_name(site: Site) -> Iterator[Edit]:
    """A called name by a builtin or a module's function that the repository calls; ``f(x)`` to ``x.f()`` and back."""
    node = site.node
    assert isinstance(node, ast.Call)
    match node:
        case ast.Call(func=ast.Name(), args=[only], keywords=[]) if not isinstance(only, ast.Starred):
            assert isinstance(node.func, ast.Name)
            if node.func.id not in BUILTINS:
                text = f"{site.operand(only, ATOM)}.{node.func.id}()"
                yield from site.replace(node, text, NAME, 2.4)


TEMPLATES = (
    Template(NAME, (ast.Constant,), 0.2, key),
    Template(NAME, (ast.Constant,), 1.6, constant),
    Template(NAME, (ast.Constant,), 2.0, named),
    Template(NAME, (ast.Name,), 1.2, name),
    Template(NAME, (ast.Attribute,), 0.9, attribute),
    Template(NAME, (ast.Name, ast.Attribute), 1.4, lambda site: by_cost(owner(site))),
    Template(NAME, (ast.Name,), 1.8, lambda site: by_cost(member(site))),
    Template(NAME, (ast.Call,), 1.4, lambda site: by_cost(keyword(site))),
    Template(NAME, (ast.Name, ast.Attribute, ast.Subscript), 2.0, expression),
    Template(NAME, (ast.Call,), 2.4, function_name, wide=True),
)
