"""Conditions on sizes: read as torch prints them, evaluated, simplified, and written in other names.

Input: text such as ``Eq(Mod(s53, 4), 0)`` or ``2*(L['x'].size()[3] // 8) <= 20``.  Output: a ``SizeExpression``, or
None for text that is none.  Nothing is executed: the text is parsed, and a value is computed here.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from depyf.safety.unheard import parse

Value = float
Monomial = tuple[str, ...]

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "and", ast.BitOr: "or",
}  # fmt: skip
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_CALLED = {
    "Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">=", "Mod": "%", "PythonMod": "%",
    "FloorDiv": "//", "CleanDiv": "//", "IntTrueDiv": "/", "FloatTrueDiv": "/", "PowByNatural": "**", "And": "and",
    "Or": "or", "Not": "not", "Max": "max", "Min": "min", "max": "max", "min": "min", "ToFloat": "same",
    "TruncToInt": "int", "FloorToInt": "int", "CeilToInt": "ceil", "Identity": "same", "abs": "abs", "Abs": "abs",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_DENIED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_LEVELS = {
    "or": 1,
    "and": 2,
    "not": 3,
    "+": 5,
    "-": 5,
    "*": 6,
    "//": 6,
    "/": 6,
    "%": 6,
    "**": 8,
    **dict.fromkeys(_TURNED, 4),
}
_HIGHEST_POWER = 8


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """``op`` on ``parts``; a leaf has the op ``name`` or ``number`` and its ``text``."""

    op: str
    parts: tuple[SizeExpression, ...] = ()
    text: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols in it, each once, in order."""
        return tuple(dict.fromkeys(part.text for part in self.walk() if part.op == "name"))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The integers in it, each once, in order."""
        return tuple(
            dict.fromkeys(int(part.text) for part in self.walk() if part.op == "number" and part.text.isdigit())
        )

    def walk(self) -> Iterator[SizeExpression]:
        todo = [self]
        while todo:
            part = todo.pop()
            yield part
            todo += reversed(part.parts)


def read_size_expression(text: str) -> SizeExpression | None:
    """The expression in ``text``; None where that is no condition on sizes."""
    text = text.strip()
    try:
        return _read(parse(text, mode="eval").body, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(node: ast.expr, text: str) -> SizeExpression:
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return SizeExpression(_BINARY[type(node.op)], (_read(node.left, text), _read(node.right, text)))
    if isinstance(node, ast.BoolOp):
        parts = tuple(_read(value, text) for value in node.values)
        return SizeExpression("and" if isinstance(node.op, ast.And) else "or", parts)
    if isinstance(node, ast.UnaryOp):
        inner = _read(node.operand, text)
        if isinstance(node.op, (ast.Not, ast.Invert)):
            return denied(inner)
        if isinstance(node.op, ast.USub):
            return SizeExpression("-", (number(0), inner))
    if isinstance(node, ast.Compare) and all(type(op) in _COMPARED for op in node.ops):
        sides = [_read(side, text) for side in (node.left, *node.comparators)]
        pairs = [
            SizeExpression(_COMPARED[type(op)], (one, other)) for op, one, other in zip(node.ops, sides, sides[1:])
        ]
        return pairs[0] if len(pairs) == 1 else SizeExpression("and", tuple(pairs))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLED and not node.keywords:
        op, parts = _CALLED[node.func.id], tuple(_read(part, text) for part in node.args)
        if op == "same":
            return parts[0]
        if len(parts) > 2 and op not in ("max", "min", "and", "or"):
            raise ValueError(text)
        return denied(parts[0]) if op == "not" else SizeExpression(op, parts)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return SizeExpression("number", text=repr(node.value))
    if isinstance(node, ast.Name) or (isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) and _begins(node)):
        return SizeExpression("name", text=ast.get_source_segment(text, node) or "")
    raise ValueError(text)


def _begins(node: ast.expr) -> bool:
    """Whether a chain of attributes, items and calls without arguments begins with a name: the place of an input."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and not node.args and not node.keywords:
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return False
    return True


def number(value: int) -> SizeExpression:
    return SizeExpression("number", text=str(value))


def denied(expression: SizeExpression) -> SizeExpression:
    """The logical negation of ``expression``."""
    if expression.op in _DENIED:
        return SizeExpression(_DENIED[expression.op], expression.parts)
    if expression.op == "not":
        return expression.parts[0]
    return SizeExpression("not", (expression,))


def substituted(expression: SizeExpression, by: Mapping[str, SizeExpression]) -> SizeExpression:
    """``expression`` with the symbols in ``by`` replaced."""
    if expression.op == "name":
        return by.get(expression.text, expression)
    if not expression.parts:
        return expression
    return SizeExpression(expression.op, tuple(substituted(part, by) for part in expression.parts))


def conjuncts(expression: SizeExpression) -> Iterator[SizeExpression]:
    """The parts of an ``and``, or the expression itself."""
    if expression.op == "and":
        for part in expression.parts:
            yield from conjuncts(part)
    else:
        yield expression


_COMPUTED: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "/": operator.truediv,
    "%": operator.mod, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "max": max, "min": min, "**": lambda one, other: one ** max(0, min(other, _HIGHEST_POWER)),
}  # fmt: skip
_CONVERTED: dict[str, Callable[[Value], Value]] = {
    "int": lambda value: math.floor(value),
    "ceil": lambda value: math.ceil(value),
    "abs": lambda value: abs(value),
}
NO_VALUE = (ArithmeticError, ValueError, TypeError)
"""Division by zero, no real number, more than a float holds."""
Program = Callable[[Mapping[str, Value]], Value]


def evaluator(expression: SizeExpression) -> Program:
    """A function that maps the values of the symbols to the value of ``expression``.  It raises one of ``NO_VALUE``
    where the expression has no value."""
    op, parts = expression.op, [evaluator(part) for part in expression.parts]
    if op == "number":
        value = float(expression.text) if not expression.text.lstrip("-").isdigit() else int(expression.text)
        return lambda known: value
    if op == "name":
        name = expression.text
        return lambda known: known[name]
    if op == "and":
        return lambda known: all(part(known) for part in parts)
    if op == "or":
        return lambda known: any(part(known) for part in parts)
    first = parts[0]
    if op == "not":
        return lambda known: not first(known)
    if op in ("int", "ceil", "abs"):
        convert = _CONVERTED[op]
        return lambda known: convert(first(known))
    compute = _COMPUTED[op]
    if len(parts) == 1:
        return first
    if len(parts) == 2:
        second = parts[1]
        return lambda known: compute(first(known), second(known))
    longest = max if op == "max" else min
    return lambda known: longest(part(known) for part in parts)


Polynomial = dict[Monomial, int]


def simplified(expression: SizeExpression, positive: frozenset[str] = frozenset()) -> SizeExpression:
    """A comparison without what stands on both sides: ``2*a == 2*b`` becomes ``a == b``, ``a*b == 4*(a//4)*b`` becomes
    ``a % 4 == 0``.  ``positive``: the symbols that are at least 1, by which a comparison may be divided."""
    if expression.op in ("and", "or", "not"):
        return SizeExpression(expression.op, tuple(simplified(part, positive) for part in expression.parts))
    if expression.op not in _TURNED:
        return expression
    try:
        left, right = (_polynomial(part) for part in expression.parts)
    except ValueError:
        return expression
    whole = dict(left)
    for monomial, factor in right.items():
        whole[monomial] = whole.get(monomial, 0) - factor
    whole = {monomial: factor for monomial, factor in whole.items() if factor}
    if not whole:
        return expression
    common = math.gcd(*whole.values())
    whole = _divided({monomial: factor // common for monomial, factor in whole.items()}, positive)
    op = expression.op
    if max(whole.items(), key=lambda item: (len(item[0]) > 0, item[0] in left))[1] < 0:
        whole, op = {monomial: -factor for monomial, factor in whole.items()}, _TURNED[op]
    one = _sum({monomial: factor for monomial, factor in whole.items() if factor > 0})
    other = _sum({monomial: -factor for monomial, factor in whole.items() if factor < 0})
    return _multiple(op, one, other) or _bound(op, one, other)


def summed(expression: SizeExpression) -> SizeExpression:
    """``expression`` as a sum of products without duplicates; unchanged where it is no polynomial."""
    try:
        return _sum(_polynomial(expression))
    except ValueError:
        return expression


def _divided(whole: Polynomial, positive: frozenset[str]) -> Polynomial:
    """Without the positive factors that all have."""
    for name in min(whole, key=len):
        if name in positive:
            while whole and all(name in monomial for monomial in whole):
                whole = {_without(monomial, name): factor for monomial, factor in whole.items()}
    return whole


def _without(monomial: Monomial, name: str) -> Monomial:
    place = monomial.index(name)
    return monomial[:place] + monomial[place + 1 :]


def _multiple(op: str, one: SizeExpression, other: SizeExpression) -> SizeExpression | None:
    """``a == 4*(a//4)`` as ``a % 4 == 0``."""
    for whole, product in ((one, other), (other, one)):
        if op in ("==", "!=") and product.op == "*" and len(product.parts) == 2:
            for factor, quotient in (product.parts, product.parts[::-1]):
                if quotient.op == "//" and quotient.parts == (whole, factor):
                    return SizeExpression(op, (SizeExpression("%", (whole, factor)), number(0)))
    return None


def _bound(op: str, one: SizeExpression, other: SizeExpression) -> SizeExpression:
    """``a < 4`` with the number, or what is shorter, on the right."""
    if one.op == "number" or (one.op != "name" and other.op == "name"):
        one, other, op = other, one, _TURNED[op]
    return SizeExpression(op, (one, other))


def _polynomial(expression: SizeExpression) -> Polynomial:
    """Sums of products; what is neither is a factor, by its text."""
    op = expression.op
    if op == "number":
        if not expression.text.lstrip("-").isdigit():
            raise ValueError(expression.text)
        value = int(expression.text)
        return {(): value} if value else {}
    if op in ("+", "-"):
        whole, right = (dict(_polynomial(part)) for part in expression.parts)
        for monomial, factor in right.items():
            whole[monomial] = whole.get(monomial, 0) + (factor if op == "+" else -factor)
        return whole
    if op == "*":
        return _product(*(_polynomial(part) for part in expression.parts))
    if op == "**" and expression.parts[1].op == "number" and expression.parts[1].text in "12345678":
        base = whole = _polynomial(expression.parts[0])
        for _ in range(int(expression.parts[1].text) - 1):
            whole = _product(whole, base)
        return whole
    return {(written(expression),): 1}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > 64:
        raise ValueError("too long")
    whole: Polynomial = {}
    for first, factor in one.items():
        for second, times in other.items():
            monomial = tuple(sorted(first + second))
            whole[monomial] = whole.get(monomial, 0) + factor * times
    return whole


def _sum(terms: Polynomial) -> SizeExpression:
    total: SizeExpression | None = None
    for monomial, factor in sorted(terms.items(), key=lambda item: (-len(item[0]), item[0])):
        factors = [read_size_expression(name) or SizeExpression("name", text=name) for name in monomial]
        if factor != 1 or not factors:
            factors.insert(0, number(factor))
        product = factors[0]
        for part in factors[1:]:
            product = SizeExpression("*", (product, part))
        total = product if total is None else SizeExpression("+", (total, product))
    return total or number(0)


def written(expression: SizeExpression, names: Mapping[str, str] = {}, level: int = 0) -> str:
    """The text, with ``names`` for symbols, in as few brackets as Python needs."""
    op, parts = expression.op, expression.parts
    if op == "number":
        return expression.text
    if op == "name":
        return names.get(expression.text, expression.text)
    if op in ("max", "min", "int", "ceil", "abs"):
        return f"{op}({', '.join(written(part, names) for part in parts)})"
    own = _LEVELS[op]
    if op == "not":
        text = f"not {written(parts[0], names, own)}"
    elif op == "-" and parts[0] == number(0):
        text = f"-{written(parts[1], names, own + 2)}"
    elif op in ("*", "+"):
        terms: list[tuple[bool, str]] = []
        todo = [expression]
        while todo:
            part = todo.pop()
            if part.op == op:
                todo += part.parts
            else:  # 2*a*b, a + b + 2
                terms.append(((part.op != "number") == (op == "*"), written(part, names, own + 1)))
        text = ("*" if op == "*" else " + ").join(term for _, term in sorted(terms))
    else:
        blank = "" if op in ("*", "//", "/", "**") else " "
        inner = [written(part, names, own + (n > 0 or op in _TURNED)) for n, part in enumerate(parts)]
        text = f"{blank}{op}{blank}".join(inner)
    return f"({text})" if own < level else text
