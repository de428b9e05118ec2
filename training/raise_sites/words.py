"""Puts the tests of a program into words: "tensor_parallel_size is greater than num_heads"."""

from __future__ import annotations

import ast

_COMPARED = {
    ast.Eq: ("is", "is not"),
    ast.NotEq: ("is not", "is"),
    ast.Lt: ("is less than", "is at least"),
    ast.LtE: ("is at most", "is greater than"),
    ast.Gt: ("is greater than", "is at most"),
    ast.GtE: ("is at least", "is less than"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("is among", "is none of"),
    ast.NotIn: ("is none of", "is among"),
}
_LONGEST = 160
"""Characters of a test in words."""
_FEW = 6
"""Values of a list that are written out."""
_OWN = ("self", "cls")
_PREDICATES = ("is_", "has_", "supports_", "use_", "uses_", "enable_", "should_", "can_", "_is_", "_has_", "support_")


def in_words(test: ast.expr, holds: bool = True) -> str:
    """Return a test in words; "" for one that is too long or says nothing.

    Args:
        test: Of an ``if`` or an assertion.
        holds: Whether it is true where the error is raised.
    """
    text = _said(test, holds)
    return text if len(text) <= _LONGEST and not text.startswith(" ") and "  " not in text else ""


def _said(test: ast.expr, holds: bool) -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind of test
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _said(inner, not holds)
        case ast.BoolOp(op=op, values=values):
            both = isinstance(op, ast.And) == holds
            parts = [_said(each, holds) for each in values]
            # Which belongs to which is not told without parentheses.
            mixed = any(" or " in each or " and " in each for each in parts)
            return (" and " if both else " or ").join(dict.fromkeys(parts)) if all(parts) and not mixed else ""
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right, holds)
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            return f"{name_of(value)} is {'' if holds else 'not '}of type {name_of(kind)}" if name_of(kind) else ""
        case ast.Call(func=ast.Name(id="hasattr"), args=[value, ast.Constant(value=str() as name)]):
            return f"{name_of(value)} has {'' if holds else 'no '}{name}"
        case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            return _said(inner, holds)
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value=str() as key), *_]):
            return f"{key} of {name_of(value)} is {'set' if holds else 'not set, or empty'}"
        case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith" as how), args=[what]):
            verb = {"startswith": "begins", "endswith": "ends"}[how]
            return f"{name_of(value)} {verb if holds else f'does not {verb[:-1]}'} with {name_of(what)}"
        case ast.Call():
            return f"{name_of(test)} {'holds' if holds else 'does not hold'}"
        case ast.NamedExpr(value=value):
            return _said(value, holds)
        case ast.Constant():
            return ""
    name = name_of(test)
    if not name:
        return ""
    if name.startswith(_PREDICATES):
        return f"{name} is {'true' if holds else 'false'}"
    return f"{name} is {'set' if holds else 'not set, or empty'}"


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, holds: bool) -> str:
    match left, op, right:
        case ast.BinOp(left=value, op=ast.Mod(), right=by), ast.NotEq() | ast.Eq() | ast.Gt(), ast.Constant(value=0):
            multiple = isinstance(op, ast.Eq) == holds
            return f"{name_of(value)} is {'' if multiple else 'not '}a multiple of {name_of(by)}"
        case _, ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq(), ast.Constant(value=None):
            unset = isinstance(op, ast.Is | ast.Eq) == holds
            return f"{name_of(left)} is {'not ' if unset else ''}set"
    one, other = name_of(left), name_of(right)
    verb = _COMPARED.get(type(op))
    if isinstance(op, ast.In | ast.NotIn) and not isinstance(right, ast.List | ast.Tuple | ast.Set):
        verb = ("is in", "is not in") if isinstance(op, ast.In) else ("is not in", "is in")
    return f"{one} {verb[not holds]} {other}" if one and other and verb else ""


def name_of(node: ast.expr) -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind of expression
    """Return an expression by the name that tells most: the last of an attribute, a literal, a call with what it asks."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Attribute(attr=owner), attr=name) if len(name) < 6:
            return f"{owner}.{name}"
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner not in _OWN and len(name) < 6:
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return name
        case ast.Constant(value=value):
            return repr(value) if not isinstance(value, str) or len(value) < 60 else ""
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            names = [name_of(each) for each in parts[:_FEW]]
            return ", ".join(names) + (", …" if len(parts) > _FEW else "") if all(names) else ""
        case ast.Call(func=ast.Name(id="len"), args=[value]):
            return f"the number of {name_of(value)}"
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str() as name), *_]):
            return f"{name_of(value)}.{name}"
        case ast.Call(func=func, args=args) if len(args) <= 2:
            inner = [name_of(each) for each in args]
            return f"{name_of(func)}({', '.join(inner)})" if all(inner) else name_of(func)
        case ast.Call(func=func):
            return name_of(func)
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            return f"{name_of(value)}[{key!r}]"
        case ast.Subscript(value=value):
            return name_of(value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{name_of(left)}, {name_of(right)}"
        case ast.BinOp(left=left, op=op, right=right):
            signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Div: "/", ast.Mod: "modulo"}
            one, other = name_of(left), name_of(right)
            return f"{one} {signs.get(type(op), '')} {other}" if one and other and type(op) in signs else ""
        case ast.UnaryOp(op=ast.USub(), operand=value):
            return f"-{name_of(value)}"
        case ast.Await(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
            return name_of(value)
    return ""
