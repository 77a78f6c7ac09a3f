"""Whether two candidates are the same patch in other words: a canonical form of their syntax trees.

Only identities that hold for the built-in types are used; the form serves counting and reporting, never judging.
"""

from __future__ import annotations

import ast

_MIRROR: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMMUTES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


class _Canonical(ast.NodeTransformer):
    """``a > b`` to ``b < a``, ``not a == b`` to ``a != b``, ``len(x) >= 1`` to ``0 < len(x)``, ``a + 0`` to ``a``."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if type(operator) in _MIRROR:
            left, operator, right = right, _MIRROR[type(operator)](), left
        if isinstance(operator, ast.LtE) and _is_length(left) and _is_whole(right):
            operator, right = ast.Lt(), ast.Constant(_value(right) + 1)
        if isinstance(operator, ast.LtE) and _is_length(right) and _is_whole(left):
            operator, left = ast.Lt(), ast.Constant(_value(left) - 1)
        if isinstance(operator, (ast.NotEq, ast.Eq)):
            zero = next(
                (one for one, other in ((left, right), (right, left)) if _is_whole(one) and _is_length(other)), None
            )
            if zero is not None and _value(zero) == 0 and isinstance(operator, ast.NotEq):
                left, operator, right = ast.Constant(0), ast.Lt(), right if zero is left else left
            elif zero is not None and _value(zero) == 0:
                left, operator, right = right if zero is left else left, ast.Lt(), ast.Constant(1)
        if isinstance(operator, _COMMUTES) and ast.dump(right) < ast.dump(left):
            left, right = right, left
        return ast.Compare(left, [operator], [right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            opposite = _OPPOSITE.get(type(inner.ops[0]))
            if opposite is not None:
                return self.visit_Compare(ast.Compare(inner.left, [opposite()], inner.comparators))
        if isinstance(node.op, ast.USub) and isinstance(inner, ast.Constant) and type(inner.value) in {int, float}:
            return ast.Constant(-_value(inner))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Sub)) and _is_whole(node.right) and _value(node.right) == 0:
            return node.left
        if isinstance(node.op, ast.Add) and _is_whole(node.left):
            return ast.BinOp(node.right, node.op, node.left) if not isinstance(node.right, ast.Constant) else node
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and not node.keywords:
            first = node.args[0] if node.args else None
            if node.func.id == "range" and len(node.args) == 2 and first is not None and _is_whole(first):
                return ast.Call(node.func, node.args[1:], []) if _value(first) == 0 else node
            if node.func.id in {"min", "max"} and len(node.args) > 1:
                return ast.Call(node.func, sorted(node.args, key=ast.dump), [])
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        if node.lower is not None and _is_whole(node.lower) and _value(node.lower) == 0 and node.step is None:
            return ast.Slice(None, node.upper, None)
        return node


def canonical(content: bytes) -> str:
    """The canonical form of a file that parses, as text to compare."""
    return ast.dump(_Canonical().visit(ast.parse(content)))


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _value(node: ast.expr) -> int:
    assert isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    return node.value  # type: ignore[return-value]  # floats only take part in a change of sign
