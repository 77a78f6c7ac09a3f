"""How strongly expressions bind, so that a splice gets parentheses where, and only where, they are needed.

The table is the one of the language reference ("Operator precedence"); higher binds tighter.
"""

from __future__ import annotations

import ast
from functools import lru_cache

LOOSE, CHOICE, OR, AND, NOT, COMPARE = 0, 1, 3, 4, 5, 6
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, POWER, AWAIT, ATOM = 7, 8, 9, 10, 11, 12, 13, 14, 15, 16

_BINARY: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}


def of_binary(operator: ast.operator) -> int:
    """The level of ``operator``."""
    return _BINARY[type(operator)]


def strength(node: ast.AST, text: str = "") -> int:
    """The level of the expression ``node``; ``text`` tells a tuple with parentheses from one without."""
    match node:
        case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Starred():
            return LOOSE
        case ast.Tuple() | ast.GeneratorExp():
            return ATOM if _is_enclosed(text) else LOOSE
        case ast.IfExp() | ast.Lambda():
            return CHOICE
        case ast.BoolOp(op=ast.Or()):
            return OR
        case ast.BoolOp():
            return AND
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.UnaryOp():
            return SIGN
        case ast.Compare():
            return COMPARE
        case ast.BinOp():
            return of_binary(node.op)
        case ast.Await() | ast.Constant(value=int()):
            return AWAIT  # of numbers because ``1.real`` is no attribute
    return ATOM


def _is_enclosed(text: str) -> bool:
    """Whether one pair of parentheses spans all of ``text`` (strings with parentheses in them may mislead: safe)."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


@lru_cache(maxsize=4096)
def strength_of_text(text: str) -> int:
    """The level of an expression given as text; LOOSE (always put in parentheses) when it is none."""
    try:
        node = ast.parse(f"({text}\n)", mode="eval").body
        # An expression that begins behind the text's own first character stands in parentheses.
        grouped = (node.lineno, node.col_offset) > (1, 1) and text.startswith("(")
        return ATOM if grouped else strength(node, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return LOOSE


def required(parent: ast.AST, field: str) -> int:
    """The least level that an expression in ``field`` of ``parent`` must have to stand there without parentheses."""
    match parent:
        case ast.BinOp(op=ast.Pow()):
            return AWAIT if field == "left" else SIGN
        case ast.BinOp():
            return of_binary(parent.op) + (field == "right")
        case ast.BoolOp():
            return (OR if isinstance(parent.op, ast.Or) else AND) + 1
        case ast.UnaryOp():
            return NOT if isinstance(parent.op, ast.Not) else SIGN
        case ast.Compare() | ast.Starred():
            return BIT_OR
        case ast.IfExp():
            return CHOICE if field == "orelse" else OR
        case ast.comprehension():
            return OR
        case ast.Attribute() | ast.Await():
            return ATOM
        case ast.Call(func=_) if field == "func":
            return ATOM
        case ast.Subscript() if field == "value":
            return ATOM
    return CHOICE
