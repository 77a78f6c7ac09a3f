"""Wrong operator: comparison, arithmetic, boolean, augmented assignment, sign and negation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from planexec.repair.edits import Edit
from planexec.repair.precedence import AND, NOT, OR, SIGN, of_binary
from planexec.repair.site import Site
from planexec.repair.templates.base import Template, by_cost, is_condition, is_number, is_text

NAME = "operator"
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
# For each comparison the others, likeliest first.
COMPARISON_CHOICES: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">", ">=", "!=", "=="),
    "<=": ("<", ">=", ">", "==", "!="),
    ">": (">=", "<", "<=", "!=", "=="),
    ">=": (">", "<=", "<", "==", "!="),
    "==": ("!=", "<=", ">=", "in", "is", "<", ">"),
    "!=": ("==", "<", ">", "not in", "is not", "<=", ">="),
    "is": ("is not", "=="),
    "is not": ("is", "!="),
    "in": ("not in", "=="),
    "not in": ("in", "!="),
}
ARITHMETIC: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.Div(),
    "//": ast.FloorDiv(),
    "%": ast.Mod(),
    "**": ast.Pow(),
    "<<": ast.LShift(),
    ">>": ast.RShift(),
    "|": ast.BitOr(),
    "&": ast.BitAnd(),
    "^": ast.BitXor(),
    "@": ast.MatMult(),
}
SYMBOLS: dict[type[ast.operator], str] = {type(operator): text for text, operator in ARITHMETIC.items()}
ARITHMETIC_CHOICES: dict[str, tuple[str, ...]] = {
    "+": ("-", "*", "|"),
    "-": ("+", "/", "%", "&", "^"),
    "*": ("**", "/", "+", "//"),
    "/": ("//", "*", "%"),
    "//": ("/", "%", "*"),
    "%": ("//", "/"),
    "**": ("*",),
    "<<": (">>",),
    ">>": ("<<",),
    "|": ("&", "^", "+"),
    "&": ("|", "^", "-"),
    "^": ("&", "|"),
    "@": ("*",),
}


def comparison(site: Site) -> Iterator[Edit]:
    """``a < b`` to ``a <= b`` and so on; in a chain one operator at a time."""
    node = site.node
    assert isinstance(node, ast.Compare)
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        place = _operator_place(site, left, right)
        for rank, text in enumerate(COMPARISON_CHOICES[COMPARISONS[type(operator)]]):
            if place is None or (text in {"in", "not in"} and is_number(right)):
                continue
            yield from site.rewrite(*place, _spaced(site, place, text), NAME, 1.0 + 0.15 * rank)
        left = right


def arithmetic(site: Site) -> Iterator[Edit]:
    """``a + b`` to ``a - b`` and so on; operands get parentheses where the new operator binds tighter."""
    node = site.node
    assert isinstance(node, ast.BinOp)
    text = SYMBOLS[type(node.op)]
    place = _operator_place(site, node.left, node.right)
    if place is None or (is_text(node.left) and text == "%") or (text == "+" and is_text(node.right)):
        return
    whole = site.source.text
    between_left = whole[site.source.outer(node.left)[1] : place[0]]
    between_right = whole[place[1] : site.source.outer(node.right)[0]]
    for rank, choice in enumerate(ARITHMETIC_CHOICES[text]):
        level = of_binary(ARITHMETIC[choice])
        power = choice == "**"
        left = site.operand(node.left, level + power)
        right = site.operand(node.right, SIGN if power else level + 1)
        new = f"{left}{between_left}{choice}{between_right}{right}"
        yield from site.replace(node, new, NAME, 1.1 + 0.15 * rank)


def boolean(site: Site) -> Iterator[Edit]:
    """``and`` to ``or`` and back, for the whole row of operands."""
    node = site.node
    assert isinstance(node, ast.BoolOp)
    joined, level = (" or ", OR + 1) if isinstance(node.op, ast.And) else (" and ", AND + 1)
    gaps = zip(node.values, node.values[1:], strict=False)
    places = [_operator_place(site, left, right) for left, right in gaps]
    new = joined.join(site.operand(value, level) for value in node.values)
    start, end = site.source.span(node)
    if None not in places and ("\n" in site.source.text[start:end] or "#" in site.source.text[start:end]):
        # Keep the layout: only the words change.
        new = site.source.text[start:end]
        for place in reversed([each for each in places if each is not None]):
            new = new[: place[0] - start] + joined.strip() + new[place[1] - start :]
    yield from site.replace(node, new, NAME, 1.1)


def augmented(site: Site) -> Iterator[Edit]:
    """``+=`` to ``-=`` or ``=``, and a plain assignment to ``+=`` and its like."""
    node = site.node
    if isinstance(node, ast.AugAssign):
        text = SYMBOLS[type(node.op)]
        start, end = site.source.outer(node.target)[1], site.source.outer(node.value)[0]
        place = _token_between(site, start, end, {f"{text}="})
        for rank, choice in enumerate([*ARITHMETIC_CHOICES[text], ""]):
            if place is not None:
                yield from site.rewrite(*place, f"{choice}=", NAME, 1.1 + 0.15 * rank)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
            start, end = site.source.outer(target)[1], site.source.outer(node.value)[0]
            place = _token_between(site, start, end, {"="})
            for rank, choice in enumerate(["+", "-", "|", "*"]):
                if place is not None:
                    yield from site.rewrite(*place, f"{choice}=", NAME, 1.6 + 0.15 * rank)


def negation(site: Site) -> Iterator[Edit]:
    """Drop ``not``, ``-`` or ``~``; put ``not`` before a condition."""
    node = site.node
    if isinstance(node, ast.UnaryOp):
        yield from site.replace(node, site.text(node.operand), NAME, 1.1)
        if isinstance(node.op, ast.Invert):
            yield from site.replace(node, f"-{site.operand(node.operand, SIGN)}", NAME, 1.4)
        return
    assert isinstance(node, ast.expr)
    if is_condition(site) and not isinstance(node, (ast.Compare, ast.BoolOp, ast.NamedExpr)):
        yield from site.replace(node, f"not {site.operand(node, NOT)}", NAME, 1.2)
    elif is_condition(site) and isinstance(node, ast.BoolOp):
        yield from site.replace(node, f"not ({site.source.segment(node)})", NAME, 1.5)


def sign(site: Site) -> Iterator[Edit]:
    """Put ``-`` before a name or a number that is an operand, an argument or a value."""
    node = site.node
    assert isinstance(node, ast.expr)
    if isinstance(node, ast.Constant) and (not is_number(node) or node.value == 0):
        return
    if isinstance(site.parent, (ast.UnaryOp, ast.Attribute, ast.Expr)) or site.field in {"func", "targets", "target"}:
        return
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    if isinstance(site.parent, ast.Compare) and site.parent.ops and site.field == "left":
        return
    yield from site.replace(node, f"-{site.operand(node, SIGN)}", NAME, 1.9)


def _operator_place(site: Site, left: ast.expr, right: ast.expr) -> tuple[int, int] | None:
    """Where the operator between two operands stands: the only tokens there."""
    start, end = site.source.outer(left)[1], site.source.outer(right)[0]
    tokens = site.source.tokens_in(start, end)
    if not tokens or any(token.text in "()" for token in tokens):
        return None
    return tokens[0].start, tokens[-1].end


def _token_between(site: Site, start: int, end: int, texts: set[str]) -> tuple[int, int] | None:
    for token in site.source.tokens_in(start, end):
        if token.text in texts:
            return token.start, token.end
    return None


def _spaced(site: Site, place: tuple[int, int], text: str) -> str:
    """A word operator put where a symbol stood without spaces needs spaces of its own."""
    if not text[0].isalpha():
        return text
    before = "" if site.source.text[place[0] - 1].isspace() else " "
    after = "" if site.source.text[place[1]].isspace() else " "
    return f"{before}{text}{after}"


TEMPLATES = (
    Template(NAME, (ast.Compare,), 1.0, lambda site: by_cost(comparison(site))),
    Template(NAME, (ast.BinOp,), 1.1, arithmetic),
    Template(NAME, (ast.BoolOp,), 1.1, boolean),
    Template(NAME, (ast.AugAssign, ast.Assign), 1.1, augmented),
    Template(NAME, (ast.expr,), 1.1, negation),
    Template(NAME, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript), 1.9, sign, wide=True),
)
