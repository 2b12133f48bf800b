"""The statements of a captured graph, evaluated on intervals.

Input: a ``GraphClass``, an interval for each tensor parameter.  Output: one ``Complaint`` per sink (an operation that
is defined for some values only), ``bad`` where the interval that arrives is not inside what it takes.  What the
evaluator does not know yields "unknown", about which no sink complains.  ``incremental.py`` says which statements run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.dump.graphs.graph_text import GraphClass
from depyf.dump.graphs.value_types import Number, TensorType, evaluate, tensor_type
from depyf.gallery import intervals as iv
from depyf.gallery.intervals import INF, TRUTH, Span

Value = Any
"""A ``Span``, a tuple of values, a ``GraphClass``, or None: unknown."""

_SAME = frozenset(
    "view reshape unsqueeze squeeze expand contiguous to long int float double half bfloat16 type type_as clone detach "
    "transpose permute t flatten unflatten repeat expand_as view_as roll flip movedim swapaxes swapdims narrow select "
    "tile repeat_interleave broadcast_to cpu cuda masked_select take split chunk unbind gather index_select diagonal "
    "as_strided alias unfold tril triu amax amin sort topk max min mode median kthvalue requires_grad_ lift_fresh_copy "
    "squeeze_ unsqueeze_ diag T mT adaptive_max_pool2d max_pool2d mean identity cummax unique tolist item "
    "_unsafe_view slice pin_memory align_to ravel moveaxis atleast_1d atleast_2d split_with_sizes nan_to_num".split()
)
_TRUTH = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isfinite isin any all bool sigmoid "
    "softmax isclose equal".split()
)
_NONNEGATIVE = frozenset("relu exp abs square norm var std softplus cosh count_nonzero nonzero elu_ bincount".split())
_UNIT = frozenset("tanh sin cos erf sign normalize".split())
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"
}  # fmt: skip
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
_LIKE = {"zeros": 0.0, "zeros_like": 0.0, "new_zeros": 0.0, "ones": 1.0, "ones_like": 1.0, "new_ones": 1.0}


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a sink takes, and whether what arrives may lie outside.  ``where`` names the place in the graph."""

    where: str
    low: float
    high: float
    bad: bool
    index: bool
    text: str


@dataclass
class Run:
    symbols: Mapping[str, Number]
    complaints: list[Complaint] = field(default_factory=list)

    def sink(self, where: str, value: Value, low: float, high: float, text: str, *, index: bool = False,
             allowed: frozenset[float] = frozenset()) -> None:  # fmt: skip
        bad = isinstance(value, Span) and not value.within(low, high, allowed)
        self.complaints.append(Complaint(where, low, high, bad, index, text))


def scalar(text: str, symbols: Mapping[str, Number]) -> Span | None:
    value = evaluate(text[4:-1], symbols) if text.startswith("Sym(") else None
    return None if value is None else Span(value, value)


class Body:
    """One body: its values so far and the types of its names."""

    def __init__(self, graph: GraphClass, values: dict[str, Value], types: dict[str, TensorType], run: Run, at: str):
        self.graph, self.values, self.types, self.run, self.at = graph, values, types, run, at
        self.here = ""

    def evaluate(self) -> Value:
        for number, statement in enumerate(self.graph.tree().body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                self.here = f"{self.at}{number}"
                return self.value(statement.value)
            self.step(number, statement)
        return None

    def step(self, number: int, statement: ast.stmt) -> None:
        """One statement: binds what it binds, adds the complaints of its sinks."""
        self.here = f"{self.at}{number}"
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        expression = getattr(statement, "value", None)
        if expression is None:
            return
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            kind = tensor_type(str(getattr(statement.annotation, "value", "")), self.run.symbols)
            if kind is not None:
                self.types[statement.target.id] = kind
        if isinstance(statement, ast.AugAssign):
            if isinstance(statement.op, _DIVISIONS):
                self.divided(expression)
            found = self.binary(statement.op, self.value(statement.target), self.value(expression))
        else:
            found = self.value(expression)
        for target in targets:
            self.bind(target, found)

    def bind(self, target: Any, found: Value) -> None:
        if isinstance(target, ast.Name):
            kind = self.types.get(target.id)
            if kind is not None and kind.dtype == "bool" and not (isinstance(found, Span) and found.within(0, 1)):
                found = TRUTH
            self.values[target.id] = found
        elif isinstance(target, ast.Tuple) and isinstance(found, tuple) and len(found) == len(target.elts):
            for one, value in zip(target.elts, found):
                self.bind(one, value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.indexed(target.value, target.slice)
            old = self.values.get(target.value.id)
            self.values[target.value.id] = _join(old, found)

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            return Span(node.value, node.value) if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.Name):
            return {"inf": Span(INF, INF)}.get(node.id, self.values.get(node.id))
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.UnaryOp):
            value = self.value(node.operand)
            if isinstance(node.op, (ast.Not, ast.Invert)):
                return TRUTH if value == TRUTH else None
            return iv.negate(value) if isinstance(value, Span) and isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, _DIVISIONS):
                self.divided(node.right)
            return self.binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Compare):
            return _compared(_COMPARISONS.get(type(node.ops[0]), ""), self.value(node.left), self.value(node.comparators[0]))  # fmt: skip
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                return next((c for c in self.graph.children if c.path[-1] == node.attr), None)
            return self.value(node.value) if node.attr in _SAME else None
        if isinstance(node, ast.Call):
            return self.call(node)
        return None

    def binary(self, op: ast.operator, a: Value, b: Value) -> Value:
        if not isinstance(a, Span) or not isinstance(b, Span):
            return None
        if isinstance(op, ast.Add):
            return iv.add(a, b)
        if isinstance(op, ast.Sub):
            return iv.add(a, iv.negate(b))
        if isinstance(op, ast.Mult):
            return iv.multiply(a, b)
        if isinstance(op, (ast.FloorDiv, ast.Div)):
            return iv.divide(a, b, floor=isinstance(op, ast.FloorDiv))
        if isinstance(op, ast.Mod):
            return iv.modulo(a, b)
        if isinstance(op, ast.Pow):
            return self.power(a, b)
        if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and a == b == TRUTH:
            return TRUTH
        if isinstance(op, ast.LShift) and b.low == b.high and 0 <= b.low < 64:
            return iv.multiply(a, Span(2**b.low, 2**b.low))
        if isinstance(op, ast.RShift) and b.low == b.high and 0 <= b.low < 64:
            return iv.divide(a, Span(2**b.low, 2**b.low), floor=True)
        return None

    def divided(self, by: ast.expr) -> None:
        """Whole numbers that something is divided by are not zero; made-up floating-point numbers never are."""
        kind, value = self.types.get(by.id) if isinstance(by, ast.Name) else None, self.value(by)
        if kind is not None and kind.integer and not (isinstance(value, Span) and value.all().high < 0):
            self.run.sink(f"{self.here}/", value, 1, INF, "something is divided by it")

    def power(self, base: Span, exponent: Span) -> Value:
        if exponent.low != exponent.high:
            return iv.power(base, 0.5) if base.low > 0 else None
        if exponent.low != int(exponent.low):
            self.run.sink(self.here, base, 0.0, INF, f"it is raised to the power {exponent.low}")
        return iv.power(base, exponent.low)

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, tuple):
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return base[index] if isinstance(index, int) and -len(base) <= index < len(base) else None
        self.indexed(node.value, node.slice)
        return base

    def indexed(self, base: ast.expr, index: ast.expr) -> None:
        """Tensors used as indices must stay inside the dimension they index."""
        kind = self.types.get(base.id) if isinstance(base, ast.Name) else None
        if kind is None:
            return
        items = index.elts if isinstance(index, (ast.Tuple, ast.List)) else [index]
        self.indices(base, kind, items)

    def indices(self, base: ast.expr, kind: TensorType, items: list[ast.expr]) -> None:
        named = [i for i in items if not (isinstance(i, ast.Constant) and i.value in (None, ...)) and not _named(i, "Ellipsis")]  # fmt: skip
        used = sum(self.consumed(item) for item in named)
        dim = 0
        for item in items:
            if isinstance(item, ast.Constant) and item.value is ... or _named(item, "Ellipsis"):
                dim += len(kind.shape) - used
                continue
            if isinstance(item, ast.Constant) and item.value is None:
                continue
            name = item.id if isinstance(item, ast.Name) else ""
            indexing = self.types.get(name)
            if indexing is not None and indexing.integer and dim < len(kind.shape):
                size = kind.shape[dim]
                self.index(f"{self.here}[{dim}]", item, size, f"it indexes dimension {dim} of {_shown(base)}")
            dim += self.consumed(item)

    def consumed(self, item: ast.expr) -> int:
        kind = self.types.get(item.id) if isinstance(item, ast.Name) else None
        return len(kind.shape) if kind is not None and kind.dtype == "bool" else 1

    def index(self, where: str, node: ast.expr, size: int | None, text: str) -> None:
        if size is not None:
            self.run.sink(where, self.value(node), 0, size - 1, f"{text} ({size})", index=True)

    def call(self, node: ast.Call) -> Value:
        path = ast.unparse(node.func) if isinstance(node.func, ast.Attribute) else ""
        free = path.startswith(("torch.", "math."))
        arguments = list(node.args)
        if isinstance(node.func, ast.Attribute) and not free:
            arguments.insert(0, node.func.value)  # a method: the tensor is the first argument
        keywords = {k.arg: k.value for k in node.keywords if k.arg}
        name = _operation(path, free)
        operands = [self.value(a) for a in arguments]
        bodies = [operand for operand in operands if isinstance(operand, GraphClass)]
        if bodies:
            results = [self.inner(body, arguments, operands) for body in bodies]
            return results[0] if len(results) == 1 else None
        self.sinks(name, arguments, operands, keywords)
        found = self.operation(name.rstrip("_") if not name.startswith("_") else name, arguments, operands, keywords)
        if name.endswith("_") and not name.startswith("_") and arguments and isinstance(arguments[0], ast.Name):
            self.values[arguments[0].id] = found  # in place
        return found

    def inner(self, body: GraphClass, arguments: list[ast.expr], operands: list[Value]) -> Value:
        """The body of a higher-order operator on the operands of the call."""
        nodes: list[ast.expr] = []
        for argument, operand in zip(arguments, operands):
            if isinstance(argument, (ast.Tuple, ast.List)):
                nodes += argument.elts
            elif not isinstance(operand, GraphClass) and not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):  # fmt: skip
                nodes.append(argument)
        values: dict[str, Value] = {}
        types: dict[str, TensorType] = {}
        parameters = body.parameters[max(0, len(body.parameters) - len(nodes)) :]
        for parameter, node in zip(parameters, nodes):
            values[parameter.name] = self.value(node)
            kind = tensor_type(parameter.type, self.run.symbols)
            if kind is None and isinstance(node, ast.Name):
                kind = self.types.get(node.id)
            if kind is not None:
                types[parameter.name] = kind
        return Body(body, values, types, self.run, f"{self.here}.{body.path[-1]}.").evaluate()

    def sinks(self, name: str, nodes: list[ast.expr], values: list[Value], keywords: Mapping[str, ast.expr]) -> None:
        from depyf.gallery.sinks import complain

        complain(self, name, nodes, values, keywords)

    def shape(self, node: ast.expr | None) -> tuple[int | None, ...]:
        kind = self.types.get(node.id) if isinstance(node, ast.Name) else None
        return kind.shape if kind is not None else ()

    def number(self, node: ast.expr | None) -> float | None:
        value = self.value(node) if node is not None else None
        return value.low if isinstance(value, Span) and value.low == value.high else None

    def operation(self, name: str, nodes: list[ast.expr], values: list[Value], keywords: Mapping[str, ast.expr]) -> Value:  # fmt: skip
        first = values[0] if values else None
        second = values[1] if len(values) > 1 else None
        if name in _TRUTH:
            return _compared(name, first, second)
        if name in _LIKE:
            return Span(_LIKE[name], _LIKE[name])
        if name in ("arange", "full", "full_like", "new_full", "tensor"):
            return self.made(name, nodes, values, keywords)
        if name == "abs" and isinstance(first, Span):
            ends = abs(first.all().low), abs(first.all().high)
            return Span(0 if first.all().low <= 0 <= first.all().high else min(ends), max(ends))
        if name in _NONNEGATIVE:
            high = first.all().high if isinstance(first, Span) and name == "relu" else INF
            return Span(0, max(0.0, high))
        if name in _UNIT:
            return Span(-1, 1)
        if name in ("argmax", "argmin"):
            dim = self.number(keywords.get("dim", nodes[1] if len(nodes) > 1 else None))
            size = _at(self.shape(nodes[0]), dim)
            return Span(0, size - 1) if size else None
        if name in ("cat", "stack", "concat", "concatenate", "hstack", "vstack"):
            return _joined(first) if isinstance(first, tuple) else None
        if name in ("pad", "masked_fill"):
            fill = self.number(keywords.get("value", nodes[3 if name == "pad" else 2] if len(nodes) > (3 if name == "pad" else 2) else None))  # fmt: skip
            fill = 0.0 if fill is None and name == "pad" else fill
            return first.with_value(fill) if isinstance(first, Span) and fill is not None else None
        if name == "where" and len(values) == 3:
            return _join(values[1], values[2]) if not _constant(values[1]) else _filled(values[2], values[1])
        if not isinstance(first, Span):
            return None
        if name in _SAME:
            return (first, None) if name in ("sort", "topk", "max", "min") and self.tuple_result(nodes, keywords) else first  # fmt: skip
        if name in ("clamp", "clip", "clamp_min", "clamp_max"):
            least = self.number(keywords.get("min", nodes[1] if len(nodes) > 1 and name != "clamp_max" else None))
            most = self.number(keywords.get("max", nodes[2] if len(nodes) > 2 else nodes[1] if name == "clamp_max" else None))  # fmt: skip
            return iv.clamp(first, -INF if least is None else least, INF if most is None else most)
        if name in ("cumsum", "sum"):
            dim = self.number(keywords.get("dim", nodes[1] if len(nodes) > 1 else None))
            shape = self.shape(nodes[0])
            count = _at(shape, dim) if dim is not None else math.prod(s or 1 for s in shape)
            return iv.repeated(first, count) if count else None
        if name in ("neg", "negative"):
            return iv.negate(first)
        if name == "sqrt":
            return iv.power(first, 0.5)
        operator = {
            "add": ast.Add, "sub": ast.Sub, "rsub": ast.Sub, "mul": ast.Mult, "multiply": ast.Mult, "div": ast.Div,
            "true_divide": ast.Div, "floor_divide": ast.FloorDiv, "remainder": ast.Mod, "fmod": ast.Mod, "pow": ast.Pow,
            "bitwise_and": ast.BitAnd, "bitwise_or": ast.BitOr, "__and__": ast.BitAnd,
        }.get(name)  # fmt: skip
        if operator is not None and isinstance(second, Span) and "alpha" not in keywords:
            one, two = (second, first) if name == "rsub" else (first, second)
            return self.binary(operator(), one, two)
        if name in ("minimum", "maximum") and isinstance(second, Span):
            one, two = first.all(), second.all()
            pick = min if name == "minimum" else max
            return Span(pick(one.low, two.low), pick(one.high, two.high))
        return None

    def tuple_result(self, nodes: list[ast.expr], keywords: Mapping[str, ast.expr]) -> bool:
        return len(nodes) > 1 or "dim" in keywords

    def made(self, name: str, nodes: list[ast.expr], values: list[Value], keywords: Mapping[str, ast.expr]) -> Value:
        if name == "arange":
            numbers = [float(v.low) for v in values if isinstance(v, Span) and v.low == v.high]
            if not numbers:
                return None
            first, end = (0.0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
            return Span(first, max(first, end - 1)) if end >= first else None
        if name == "tensor":
            return _joined(values[0]) if values and isinstance(values[0], tuple) else values[0] if values else None
        fill = self.number(keywords.get("fill_value", nodes[-1] if nodes else None))
        return Span(fill, fill) if fill is not None else None


def _compared(name: str, one: Value, two: Value) -> Span:
    """Equality with a constant, where the interval decides it; else true or false."""
    if name in ("all", "any") and isinstance(one, Span) and _constant(one) and one.within(0, 1):
        return one
    if not isinstance(one, Span) or not isinstance(two, Span):
        return TRUTH
    if _constant(one) and _constant(two) and name in ("eq", "ne"):
        same = float(one.low == two.low)
        return Span(same, same) if name == "eq" else Span(1 - same, 1 - same)
    less, more = (two.all(), one.all()) if name in ("gt", "ge") else (one.all(), two.all())
    if name in ("lt", "gt", "le", "ge"):
        strict = name in ("lt", "gt")
        if less.high < more.low or not strict and less.high == more.low:
            return Span(1, 1)
        if more.high < less.low or strict and more.high == less.low:
            return Span(0, 0)
    return TRUTH


def compared_constants(graph: GraphClass) -> list[int]:
    """The integers that values of the graph are compared with."""
    found: set[int] = set()
    for node in ast.walk(graph.tree()):
        operands: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            operands = node.comparators
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("eq", "ne"):
            operands = node.args
        found |= {o.value for o in operands if isinstance(o, ast.Constant) and type(o.value) is int}
    return sorted(found)


def _operation(path: str, free: bool) -> str:
    """``embedding`` of ``torch.nn.functional.embedding``, ``gather`` of ``torch.ops.aten.gather.default``."""
    parts = path.split(".")
    if free and len(parts) > 4 and parts[1] == "ops":
        return parts[3]
    return parts[-1]


def _named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _shown(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else "a tensor"


def _at(shape: tuple[int | None, ...], dim: float | None) -> int | None:
    if dim is None or not -len(shape) <= int(dim) < len(shape):
        return None
    return shape[int(dim)]


def _constant(value: Value) -> bool:
    return isinstance(value, Span) and value.low == value.high and not value.extras


def _filled(value: Value, constant: Value) -> Value:
    return value.with_value(constant.low) if isinstance(value, Span) and isinstance(constant, Span) else None


def _join(one: Value, two: Value) -> Value:
    if _constant(two):
        return _filled(one, two)
    return one.join(two) if isinstance(one, Span) and isinstance(two, Span) else None


def _joined(values: tuple[Value, ...]) -> Value:
    found = None
    for value in values:
        value = _joined(value) if isinstance(value, tuple) else value
        if not isinstance(value, Span):
            return None
        found = value if found is None else found.join(value)
    return found
