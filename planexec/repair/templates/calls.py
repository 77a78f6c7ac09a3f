"""Wrong call: a call too many or missing, an argument or keyword missing or too many, an exception not caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.mentions import last_word
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_load

NAME = "call"
DEEPEST = 0.4
"""Calls in calls are unwrapped three deep; each level costs 0.2."""

WRAPPERS = ("str", "int", "len", "list", "sorted", "abs", "tuple", "set", "float", "reversed", "bool", "sum")


def unwrap(site: Site) -> Iterator[Edit]:
    """``f(x)`` to ``x``, ``x.f()`` to ``x``, and ``f(x).g()`` to ``x``."""
    node = site.node
    assert isinstance(node, ast.Call)
    inner: list[tuple[ast.expr, float]] = [(node, 0.0)]
    for call, depth in inner:  # grows while it is read
        for part, cost in _wrapped(call):
            yield from site.replace(node, site.text(part), NAME, cost + depth, risk=1)
            if isinstance(part, ast.Call) and depth < DEEPEST:
                inner.append((part, depth + 0.2))


def _wrapped(call: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """What a call is made around: its first arguments, its receiver."""
    assert isinstance(call, ast.Call)
    for rank, argument in enumerate(call.args[:3]):
        if not isinstance(argument, ast.Starred):
            yield argument, 1.7 + 0.2 * rank
    if isinstance(call.func, ast.Attribute) and len(call.args) <= 1:
        yield call.func.value, 1.9


def invoke(site: Site) -> Iterator[Edit]:
    """``x.f`` to ``x.f()`` and back."""
    node = site.node
    if isinstance(node, ast.Attribute) and is_load(node):
        if not (isinstance(site.parent, ast.Call) and site.field == "func"):
            known = any(each.text == node.attr for each in site.donors.mentions("call"))
            yield from site.replace(node, f"{site.text(node)}()", NAME, 1.6 if known else 2.3)
    elif isinstance(node, ast.Call) and not node.args and not node.keywords:
        yield from site.replace(node, site.text(node.func), NAME, 1.9)


def wrap(site: Site) -> Iterator[Edit]:
    """``x`` to ``f(x)`` with functions of the module, and to ``x.f()`` with methods of strings and the like."""
    node = site.node
    assert isinstance(node, ast.expr)
    places = {"value", "args", "left", "right", "comparators", "iter", "elts", "values", "orelse", "body", "slice"}
    if not is_load(node) or site.field not in places or isinstance(site.parent, (ast.Attribute, ast.Expr)):
        return
    text = site.source.segment(node)
    if isinstance(node, ast.Starred) or len(text) > 60:
        return
    module = site.donors.module(site.source)
    single = {each.name for each in site.source.tree.body if isinstance(each, ast.FunctionDef) and _takes_one(each)}
    for name in sorted(single - {getattr(site.function, "name", "")}):
        origin = f"{site.source.path}:{module.callables.get(name, 0)}"
        yield from site.replace(node, f"{name}({text})", NAME, 2.1, donor=origin)
    for rank, name in enumerate(WRAPPERS):
        yield from site.replace(node, f"{name}({text})", NAME, 2.3 + 0.05 * rank, donor="builtin")
    for rank, name in enumerate(("strip", "lower", "upper", "copy", "items", "keys", "values")):
        seen = any(each.text == name for each in module.of("call"))
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            cost = 2.3 + 0.05 * rank - 0.2 * seen
            yield from site.replace(node, f"{site.text(node)}.{name}()", NAME, cost, donor="language")


def _takes_one(node: ast.FunctionDef) -> bool:
    needed = len(node.args.posonlyargs) + len(node.args.args)
    return needed >= 1 and needed - len(node.args.defaults) <= 1


def argument(site: Site) -> Iterator[Edit]:
    """Add a positional argument from scope, or a keyword that other calls give; drop the last one."""
    node = site.node
    assert isinstance(node, ast.Call)
    if any(isinstance(arg, (ast.Starred, ast.GeneratorExp)) for arg in node.args):
        return
    called = last_word(node.func)
    if len(node.args) + len(node.keywords) >= 1:
        last: ast.AST = [*node.args, *(each.value for each in node.keywords)][-1]
        end, lead = site.source.outer(last)[1], ", "
    else:
        end, lead = site.source.span(node)[1] - 1, ""
    yield from _added_keywords(site, node, called, end, lead)
    if not node.keywords:
        for donor in site.donors.names(site.source, node)[:16]:
            cost = 2.1 + donor.penalty
            yield from site.rewrite(end, end, lead + donor.text, NAME, cost, donor=donor.origin)
    for text in ("None", "True", "False", "0", "1", "-1"):
        if not node.keywords:
            yield from site.rewrite(end, end, lead + text, NAME, 2.5)
    if len(node.args) >= 2 and not node.keywords:
        start = site.source.outer(node.args[-2])[1]
        yield from site.rewrite(start, end, "", NAME, 1.9, risk=1)
    if node.keywords and len(node.args) + len(node.keywords) >= 2:
        before = [*node.args, *(each.value for each in node.keywords)][-2]
        yield from site.rewrite(site.source.outer(before)[1], end, "", NAME, 1.9, risk=1)


def _added_keywords(site: Site, node: ast.Call, called: str, end: int, lead: str) -> Iterator[Edit]:
    """Keywords with the values that other calls of ``called`` give, with the name itself, and with truth values."""
    present = {each.arg for each in node.keywords}
    given: dict[str, str] = {}
    for module in site.donors.modules[:50]:
        source = site.donors.source(module.path)
        if source is None or not any(each.receiver == called for each in module.of("keyword")):
            continue
        for each in ast.walk(source.tree):
            if isinstance(each, ast.Call) and last_word(each.func) == called:
                for keyword in each.keywords:
                    text = source.segment(keyword)
                    if keyword.arg not in present and len(text) <= 60 and "\n" not in text:
                        given.setdefault(text, f"{module.path}:{each.lineno}")
    for text, origin in given.items():
        yield from site.rewrite(end, end, lead + text, NAME, 1.7, donor=origin)
    for donor in site.donors.keywords(called)[:12]:
        if donor.text in present:
            continue
        for rank, value in enumerate((donor.text, "True", "False", "None")):
            cost = 1.9 + 0.1 * rank
            yield from site.rewrite(end, end, f"{lead}{donor.text}={value}", NAME, cost, donor=donor.origin)


def exception(site: Site) -> Iterator[Edit]:
    """``except A`` to ``except (A, B)`` and to ``except B`` with the exceptions that the module names."""
    node = site.node
    assert isinstance(node, ast.ExceptHandler)
    if node.type is None:
        return
    usual = ("KeyError", "ValueError", "TypeError", "AttributeError", "IndexError", "OSError", "LookupError")
    names = site.donors.module(site.source).of("name")
    nearby = [each.text for each in names if each.text.endswith(("Error", "Exception"))]
    old = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    written = [site.text(each) for each in old]
    for rank, name in enumerate(dict.fromkeys([*nearby, *usual])):
        if name not in written:
            cost = 1.8 + 0.05 * rank
            yield from site.replace(node.type, f"({', '.join([*written, name])})", NAME, cost)
            yield from site.replace(node.type, name, NAME, cost + 0.1)


TEMPLATES = (
    Template(NAME, (ast.Call,), 1.7, lambda site: by_cost(unwrap(site))),
    Template(NAME, (ast.Attribute, ast.Call), 1.6, invoke),
    Template(NAME, (ast.Call,), 1.7, lambda site: by_cost(argument(site))),
    Template(NAME, (ast.ExceptHandler,), 1.8, lambda site: by_cost(exception(site))),
    Template(NAME, (ast.expr,), 2.1, lambda site: by_cost(wrap(site)), wide=True),
)
