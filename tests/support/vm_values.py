"""What the test interpreter does with values: operators, exception groups, class patterns."""

from __future__ import annotations

import builtins
import operator
from typing import Any

# Any, and by name: the tests run on 3.10 too, which has no exception groups.
BaseGroup: Any = getattr(builtins, "BaseExceptionGroup", type("NoGroup", (), {}))
Group: Any = getattr(builtins, "ExceptionGroup", None)


class Unsupported(BaseException):
    """The running Python lacks what the code needs (type parameters, template strings)."""


_SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv", "%": "mod", "<<": "lshift",
    ">>": "rshift", "&": "and_", "|": "or_", "^": "xor", "**": "pow",
}  # fmt: skip
BINARY: dict[str, Any] = {symbol: getattr(operator, name) for symbol, name in _SYMBOLS.items()}
BINARY |= {symbol + "=": getattr(operator, "i" + name.rstrip("_")) for symbol, name in _SYMBOLS.items()}
UNARY: dict[str, Any] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
COMPARE: dict[str, Any] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
COMMON: dict[str, Any] = {
    "AssertionError": AssertionError, "NotImplementedError": NotImplementedError, "tuple": tuple, "all": all,
    "any": any, "list": list, "set": set,
}  # fmt: skip


def split_group(error: BaseException, kind: Any) -> tuple[Any, Any]:
    """CHECK_EG_MATCH: what is left, and what matched."""
    for one in kind if isinstance(kind, tuple) else (kind,):
        if issubclass(one, BaseGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if error is None:
        return None, None
    if isinstance(error, kind):
        return None, error if isinstance(error, BaseGroup) else Group("", (error,))
    if isinstance(error, BaseGroup):
        matched, rest = error.split(kind)
        return (rest, matched) if matched is not None else (error, None)
    return error, None


def reraise_star(original: BaseException, errors: list[BaseException | None]) -> BaseException | None:
    """PREP_RERAISE_STAR: join what the handlers raised with what no clause handled."""
    found = [error for error in errors if error is not None]
    if not found:
        return None
    if not isinstance(original, BaseGroup):
        return found[0]
    raised = [error for error in found if not _part_of(error, original)]
    left = [error for error in found if _part_of(error, original)]
    if not raised:
        leaves = {id(leaf) for error in left for leaf in _leaves(error)}
        return original.subgroup(lambda error: id(error) in leaves) if left else None
    if left:
        leaves = {id(leaf) for error in left for leaf in _leaves(error)}
        rest = original.subgroup(lambda error: id(error) in leaves)
        if rest is not None:
            raised.append(rest)
    if len(raised) == 1:
        return raised[0]
    return BaseGroup("", raised)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _part_of(error: BaseException, original: BaseException) -> bool:
    known = {id(leaf) for leaf in _leaves(original)}
    return isinstance(error, BaseGroup) and all(id(leaf) in known for leaf in _leaves(error))


_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_class(count: int, subject: Any, kind: Any, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    """MATCH_CLASS: the values of the patterns inside, or None."""
    if not isinstance(kind, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, kind):
        return None
    found = []
    if count:
        positional = getattr(kind, "__match_args__", None)
        if positional is None and issubclass(kind, _SELF_MATCHING):
            positional = ()
            if count > 1:
                raise TypeError(f"{kind.__name__}() accepts 1 positional sub-pattern ({count} given)")
            found.append(subject)
        else:
            positional = positional or ()
            if len(positional) < count:
                plural = "" if len(positional) == 1 else "s"
                raise TypeError(
                    f"{kind.__name__}() accepts {len(positional)} positional sub-pattern{plural} ({count} given)"
                )
            names = tuple(positional[:count]) + names
            if len(set(names)) < len(names):
                raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {names[-1]!r}")
    for name in names:
        try:
            found.append(getattr(subject, name))
        except AttributeError:
            return None
    return tuple(found)
