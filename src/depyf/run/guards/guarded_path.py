"""Where a guard or an input of a graph finds its value: ``L['self']._modules['fc'].__dict__['scale']``.

Input: an expression.  Output: ``Path``: the mapping it begins in ("L" or "G"), the name there, and the steps from that
value on; the ways of Dynamo to one place become one (``x.__dict__['a']`` is ``x.a``).  None for an expression that
computes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from depyf.safety.unheard import parse

ATTRIBUTE, ITEM, MODULE, PARAMETER, BUFFER = "attribute", "item", "module", "parameter", "buffer"
_NAMESPACES = {"_modules": MODULE, "_parameters": PARAMETER, "_buffers": BUFFER}
Key = str | int | float | bool | None
Step = tuple[str, Key]
CODE = frozenset(
    "__code__ __closure__ __defaults__ __kwdefaults__ __func__ __class__ __mro__ __globals__ __wrapped__ __module__ "
    "__qualname__ __name__ __bases__ __annotations__ __self__ fget func_code".split()
)
"""Attributes of functions and classes: what is guarded there is code, which the package holds as it was compiled."""


@dataclass(frozen=True, slots=True)
class Path:
    """``mapping[name]``, and from there on the steps."""

    mapping: str
    name: str
    steps: tuple[Step, ...] = ()

    @property
    def text(self) -> str:
        """The path as the program writes it: ``self.fc.weight``, ``batch['x'][0]``."""
        return self.name + "".join(f"[{key!r}]" if kind == ITEM else f".{key}" for kind, key in self.steps)

    @property
    def slug(self) -> str:
        """The path as a Python identifier."""
        words = [self.name, *(str(key) for _, key in self.steps)]
        return (
            "_".join("".join(c if c.isalnum() else "_" for c in word) for word in words if word).strip("_") or "value"
        )


def path_of(node: ast.expr) -> Path | None:
    """The access path that ``node`` is; None for any other expression, and for a path into code."""
    raw: list[Step] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            raw.append((ATTRIBUTE, node.attr))
            node = node.value
        elif isinstance(node, ast.Subscript) and (key := _constant(node.slice)) is not None:
            raw.append((ITEM, key[0]))
            node = node.value
        else:
            return None
    if node.id not in ("L", "G") or not raw or raw[-1][0] != ITEM or not isinstance(raw[-1][1], str):
        return None
    name = raw.pop()[1]
    return Path(node.id, str(name), tuple(_steps(raw[::-1])))


def variable_of(source: str, mapping: str = "L") -> str:
    """The variable that a source is: ``x`` of ``L['x']``, and with "G" of ``G['x']``; "" for another source."""
    if not source.startswith(f"{mapping}[") or not source.endswith("]") or "." in source:
        return ""
    try:
        path = path_of(parse(source, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return path.name if path is not None and path.mapping == mapping and not path.steps else ""


def _constant(node: ast.expr) -> tuple[Key] | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return (-value,) if isinstance(value, int) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, type(None))):
        return (node.value,)
    return None


def _steps(raw: list[Step]) -> list[Step]:
    """``.__dict__['a']`` is ``.a``; ``._modules['a']`` is one step."""
    steps: list[Step] = []
    for kind, key in raw:
        if kind == ITEM and steps and steps[-1] == (ATTRIBUTE, "__dict__"):
            steps[-1] = (ATTRIBUTE, key)
        elif kind == ITEM and steps and steps[-1][0] == ATTRIBUTE and steps[-1][1] in _NAMESPACES:
            steps[-1] = (_NAMESPACES[str(steps[-1][1])], key)
        else:
            steps.append((kind, key))
    return steps


def about_code(node: ast.expr) -> bool:
    """Whether an expression reads a class or the inside of a function, which are no data of the call."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in CODE:
            return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "type":
            return True
    return False


def mappings_in(node: ast.expr) -> frozenset[str]:
    """Which of L and G an expression looks at."""
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in ("L", "G"))
