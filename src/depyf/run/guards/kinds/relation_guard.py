"""A guard on a relation: between sizes, or between a size or number and a bound.

L['G'].size()[0] <= L['G'].size()[1]        2 <= L['x'].size()[0]        L['n'] % 4 == 0        4 <= L['count']
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.advice.source_names import SizeSource, named, size_source, size_source_text
from depyf.run.guards.difference import STRIDES, UNKNOWN, Difference, GuardSide
from depyf.run.guards.guard_kind import (
    GuardKind,
    Look,
    Uses,
    is_literal,
    literal_side,
    side_of,
    source_of,
)
from depyf.run.guards.kinds.tensor_guard import size_advice
from depyf.run.guards.program_words import in_program
from depyf.run.places.place import Place
from depyf.safety.unheard import parse

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_IN_WORDS = {"!=": "other values than", "<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
_LEAST_TWO = {(">=", "2"), (">", "1"), ("!=", "0"), ("!=", "1")}
"""What torch assumes of every size that is a symbol."""
EQUALITY = "equality"
"""What a guard that two sizes are equal reads of them."""
BETWEEN = "relation"
"""A relation of which both sides may change."""


class RelationGuard(GuardKind):
    name = "relation"
    part_only = frozenset({"SYMBOLIC_SHAPE_GUARD"})
    of_symbols = frozenset({"LAMBDA_GUARD", "SHAPE_ENV", "SYMBOLIC_SHAPE_GUARD"})
    """torch's names of guards that may be conditions on symbols."""
    order = 60

    def fits(self, tree: ast.expr) -> bool:
        if isinstance(tree, ast.BoolOp):
            return all(map(self.fits, tree.values))
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            return self.fits(tree.operand)
        return isinstance(tree, ast.Compare) and all(type(sign) in _SIGNS for sign in tree.ops)

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        one = _bounded(tree)
        found = side_of(look, one[0]) if one is not None else _each(tree, look)
        return (self.difference(tree, look, found),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        one = _bounded(tree)
        if one is None:
            return self._between(tree, look, found)
        value, relation, _ = one
        source = ast.unparse(value)
        wanted = self.wanted(tree, look)
        difference = Difference(self.name, source, "", None, relation, wanted, found, roles=look.roles(source))
        size = size_source(source)
        if size is None:
            return difference
        found_roles = difference.roles if size.index is None else look.roles(size.tensor)
        return replace(difference, source=size.tensor, what=size.what, index=size.index, roles=found_roles)

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        one = _bounded(tree)
        return one[2] if one is not None else GuardSide(in_program(ast.unparse(tree)))

    def _between(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        """A relation of which both sides may change: ``found`` has what each of them is."""
        read = list(dict.fromkeys(map(ast.unparse, _values(tree)))) or [source_of(tree)]
        equal = isinstance(tree, ast.Compare) and [type(sign) for sign in tree.ops] == [ast.Eq]
        sizes = list(map(_dimension, read))
        both = equal and len(read) == 2 and None not in sizes
        relation = _SIGNS[type(tree.ops[0])] if isinstance(tree, ast.Compare) else ""
        what = EQUALITY if both else BETWEEN
        parts = [size.what if size is not None else "" for size in sizes]
        roles = (STRIDES,) if "stride" in parts and "" not in parts else ()
        wanted = self.wanted(tree, look)
        return Difference(self.name, read[0], what, None, relation, wanted, found, tuple(read[1:]), roles)

    def differing(self, difference: Difference) -> str:
        return named(_tensor(difference.source))

    def stated(self, difference: Difference) -> tuple[str, str]:
        if difference.what in (EQUALITY, BETWEEN):
            return difference.wanted.text, difference.found.text
        name = in_program(_whole(difference))
        found = f"{name} is {difference.found.text}" if difference.found.text else ""
        return _relation(name, difference), found

    def values(self, difference: Difference) -> tuple[str, str]:
        if difference.what in (EQUALITY, BETWEEN):
            return "", difference.found.text
        wanted = difference.wanted.text
        shown = wanted if difference.relation in ("==", "between") else f"{difference.relation} {wanted}"
        return shown, difference.found.text

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        if difference.what == EQUALITY:
            return equal_sizes(difference, shown)
        if difference.what == BETWEEN:
            return difference.wanted.text
        return named(difference.source)

    def aspect(self, difference: Difference) -> str:
        return "" if difference.what == BETWEEN else difference.what

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        if difference.what == EQUALITY:
            why = "" if placed else ", so torch took them for one size (duck sizing)"
            return f"{equal_sizes(difference, shown)} were equal when it was compiled{why}, and differ in other calls"
        if difference.what == BETWEEN:
            met = f" ({difference.found.text})" if difference.found.text else ""
            return f"{shown(difference.wanted.text)} holds in some calls, and not in others{met}"
        words, wanted = _IN_WORDS.get(difference.relation, ""), difference.wanted.text
        said = _span(wanted) if difference.relation == "between" else f"{words} {wanted}" if words else ""
        if not said or not difference.found.text:
            return ""
        measured = difference.what.replace("_", " ")
        what = f"{measured} {difference.dimension} of ".replace("  ", " ") if measured else ""
        is_now = f"{what}{shown(named(difference.source))} is {difference.found.text} in some calls"
        return f"{is_now}, and the code compiled before is for {said}"

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        if difference.what == EQUALITY:  # an operator needs them equal, where a line of the program asked
            return () if place is not None else (use("unequal-sizes", sizes=equal_sizes(difference, str)),)
        least = (difference.relation, difference.wanted.text) in _LEAST_TWO
        if difference.what == "size" and (least or difference.found.text in ("0", "1")):
            small = replace(difference, found=GuardSide("1", "int")) if not difference.small else difference
            return size_advice(small)
        return () if difference.what == "storage_offset" else (use("condition"),)


def equal_sizes(difference: Difference, shown: Callable[[str], str]) -> str:
    """``sizes 0 and 1 of x``, ``size 0 of x and size 1 of y``."""
    found = filter(None, map(_dimension, (difference.source, *difference.others)))
    (one, i), (other, j) = sorted((named(size.tensor), str(size.index)) for size in found)
    if one == other:
        return f"sizes {i} and {j} of {shown(one)}"
    return f"size {i} of {shown(one)} and size {j} of {shown(other)}"


def _relation(name: str, difference: Difference) -> str:
    if difference.relation == "between":
        return difference.wanted.text.replace("_", name, 1)
    return f"{name} {difference.relation} {difference.wanted.text}"


def _span(wanted: str) -> str:
    """``2 <= _ <= 8`` in words: ``at least 2 and at most 8``."""
    tree = parse(wanted, mode="eval").body
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 2:
        return ""
    low, high = (_SIGNS[type(sign)] for sign in tree.ops)
    words = _IN_WORDS.get(_TURNED.get(low, low)), _IN_WORDS.get(high)
    limits = ast.unparse(tree.left), ast.unparse(tree.comparators[1])
    return " and ".join(f"{word} {limit}" for word, limit in zip(words, limits, strict=True) if word)


def _whole(difference: Difference) -> str:
    if difference.index is None and difference.what != "storage_offset":
        return difference.source
    return size_source_text(SizeSource(difference.source, difference.what, difference.index))


def _tensor(source: str) -> str:
    size = _dimension(source)
    return size.tensor if size is not None else source


def _dimension(source: str) -> SizeSource | None:
    """The size or stride of a dimension that a source is."""
    size = size_source(source)
    return size if size is not None and size.index is not None else None


def _bounded(tree: ast.expr) -> tuple[ast.expr, str, GuardSide] | None:
    """The compared value, the relation and the bounds in a comparison with literals: ``2 <= x <= 8`` wants ``2 <= _ <=
    8``."""
    if not isinstance(tree, ast.Compare):
        return None
    if len(tree.ops) == 2 and is_literal(tree.left) and is_literal(tree.comparators[1]):
        value, high = tree.comparators
        return value, "between", GuardSide(ast.unparse(ast.Compare(tree.left, tree.ops, [ast.Name("_"), high])))
    if len(tree.ops) != 1:
        return None
    left, relation, right = tree.left, _SIGNS[type(tree.ops[0])], tree.comparators[0]
    if is_literal(left) and not is_literal(right):
        left, relation, right = right, _TURNED.get(relation, relation), left
    return (left, relation, literal_side(right)) if is_literal(right) and not is_literal(left) else None


def _values(tree: ast.expr) -> list[ast.expr]:
    """The sizes and numbers that an expression reads."""
    if isinstance(tree, (ast.Subscript, ast.Attribute, ast.Name)):
        return [tree]
    if isinstance(tree, ast.Call):
        return [found for argument in tree.args for found in _values(argument)] or [tree]
    return [found for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr) for found in _values(child)]


def _each(tree: ast.expr, look: Look) -> GuardSide:
    """What each of the values is that an expression reads."""
    found = {}
    for node in _values(tree):
        side = side_of(look, node)
        if side is not UNKNOWN:
            found[in_program(ast.unparse(node))] = side.text
    said = [f"{name} is {text}" for name, text in found.items()]
    return GuardSide(" and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said))


KIND = RelationGuard()
