"""Printed FX graphs -> Python a person can read and run.

Input: the text torch prints for a graph (``class <lambda>(torch.nn.Module): def forward(...)``), or the source of a
live graph function together with that text.  Output invariant: parses; imports what it names; has one class whose
``forward`` is the graph, with shapes as annotations and the user's file and line as comments.
"""

from __future__ import annotations

import _operator
import ast
import math
import re
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from depyf.safety.unheard import parse

_CLASS = re.compile(r"^(?P<indent> *)class (?P<name><[^>]*>|[\w.<>]+)\(torch\.nn\.Module\):", re.M)
_ANNOTATION = re.compile(r'(?P<start>^|;  )(?P<name>\w+): "[^"]*"(?= = )')
_PARAMETER = re.compile(r'\b(?P<name>\w+): "(?P<type>[^"]*)"')
_LIVE_PARAMETER = re.compile(r"(?P<name>\w+) : torch\.[\w.]+(?=[,)])|(?<=[(\s])(?P<bare>\w+)(?=[,)])")
"""A parameter of a live graph function, with the class of its value, or without: AOTAutograd's functions."""
_DELETIONS = re.compile(r"; +(?:\w+ = )+None$")

_IMPORTS = (
    ("from math import inf, nan", ("inf", "nan"), r"\b(?:inf|nan)\b"),
    ("import torch", ("",), ""),
    ("from torch import device", ("device(",), r"(?<![\w.])device\("),
    ("from torch.fx import _pytree as fx_pytree", ("fx_pytree",), r"\bfx_pytree\b"),
    ("from torch.utils import _pytree as pytree", ("pytree",), r"(?<!fx_)\bpytree\b"),
)
"""An import, substrings of a text that may need it (a quick test), and a pattern that decides."""


_MODULES = {"_operator": _operator, "math": math}
_MODULE_FUNCTION = re.compile(rf"(?<![\w.])({'|'.join(_MODULES)})_(\w+)(?=\()")
"""FX calls a function of another module than torch by both names in one: ``_operator_abs``."""
_OPERATOR = re.compile(r"\btorch\.ops\.(\w+)\.(\w+)")
_ORDINARY = ("aten", "higher_order", "prim")
"""Libraries of operators that ``import torch`` registers."""


def imports_for(text: str) -> str:
    """The import lines that a graph's text needs."""
    lines = [
        line for line, parts, needed_by in _IMPORTS if any(p in text for p in parts) and re.search(needed_by, text)
    ]
    named = sorted(set(_MODULE_FUNCTION.findall(text))) if any(f"{module}_" in text for module in _MODULES) else []
    lines += [
        f"from {module} import {name} as {module}_{name}" for module, name in named if hasattr(_MODULES[module], name)
    ]
    lines += [f"import {module}" for module in registering_modules(text)]
    return "\n".join(lines) + "\n"


def importable(text: str) -> str:
    """torch's printed class with a legal name: ``class <lambda>`` becomes ``class GraphModule``."""
    return _CLASS.sub(
        lambda match: f"{match['indent']}class {_legal(match['name'])}(torch.nn.Module):", text.strip("\n")
    )


def _legal(name: str) -> str:
    safe = re.sub(r"\W+", "_", name).strip("_")
    return "GraphModule" if safe in ("", "lambda") else safe


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of ``text``; None where it is no Python."""
    try:
        made: ast.Module = parse(text)
        return made
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True, slots=True)
class Printed:
    """What torch's printed graph says about each statement of the graph."""

    types: dict[str, str]
    """Name -> shape text, parameters included."""
    comments: dict[str, tuple[str, ...]]
    """Statement without annotation and deletions -> the comment lines that govern it."""
    statements: tuple[str, ...]
    annotated: dict[str, str]
    """Statement -> the same with its annotation, without deletions."""


def read_printed(text: str) -> Printed:
    """Take a printed graph apart, statement by statement (nested graph classes are left out)."""
    kinds: dict[str, str] = {}
    comments: dict[str, tuple[str, ...]] = {}
    statements: list[str] = []
    annotated: dict[str, str] = {}
    current: list[str] = []
    fresh = True  # the next comment line starts a new group
    for line in _outer_body(text):
        stripped = line.strip()
        if stripped.startswith("#"):
            current = [stripped] if fresh else [*current, stripped]
            fresh = False
            continue
        fresh = True
        for match in _PARAMETER.finditer(line) if ': "' in line else ():
            kinds.setdefault(match["name"], match["type"])
        key = statement_key(stripped)
        if " = " in key:
            statements.append(key)
            annotated.setdefault(key, without_deletions(stripped))
            comments.setdefault(key, tuple(current))
    return Printed(kinds, comments, tuple(statements), annotated)


def _outer_body(text: str) -> list[str]:
    lines = text.strip("\n").splitlines()
    depth = None
    body: list[str] = []
    for line in lines[1:]:
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("class ") and line.rstrip().endswith(":"):
            depth = indent
            continue
        if depth is not None and (indent > depth or not line.strip()):
            continue
        depth = None
        body.append(line)
    return body


def statement_key(line: str) -> str:
    """``x: "f32[2]" = a + b;  a = b = None`` -> ``x = a + b``: the same in both printings of one graph."""
    line = without_deletions(line.strip())
    return _ANNOTATION.sub(lambda match: match["start"] + match["name"], line) if '" = ' in line else line


def without_deletions(line: str) -> str:
    """A line of a printed graph without the values that it releases: ``;  a = b = None``."""
    return _DELETIONS.sub("", line) if line.endswith(" = None") else line


def annotate(live_source: str, printed: Printed) -> list[str]:
    """The source of a live graph function with shapes and comments added; same statements, same bytecode."""
    lines: list[str] = []
    last: tuple[str, ...] = ()
    for line in live_source.strip("\n").splitlines():
        if not line.strip():
            continue
        body = line.strip()
        if body.startswith("def "):
            lines.append(_LIVE_PARAMETER.sub(lambda match: _typed(match, printed.types), body))
            continue
        key = statement_key(body)
        comment = printed.comments.get(key, ())
        if comment and comment != last:
            lines.append("")
            lines += ["    " + part for part in comment]
            last = comment
        target, _, value = body.partition(" = ")
        if key in printed.annotated:
            deletions = _DELETIONS.search(body)
            body = printed.annotated[key] + (deletions.group() if deletions else "")
        elif value == "next(args_iter)" and target in printed.types:  # a boxed parameter
            body = f'{target}: "{printed.types[target]}" = {value}'
        lines.append("    " + body)
    return lines


def _typed(parameter: re.Match[str], types: Mapping[str, str]) -> str:
    name = parameter["name"] or parameter["bare"]
    return f'{name}: "{types[name]}"' if name in types else parameter.group()


def similarity(live_source: str, printed: Printed) -> float:
    """1.0 where the live function computes exactly the printed graph, else how much of it they share.

    Unpacking of a boxed argument list is ignored.
    """
    keys = []
    for line in live_source.splitlines():
        key = statement_key(line)
        if " = " not in key or key.startswith("args_iter = ") or key.endswith(" = next(args_iter)"):
            continue
        keys.append(key)
    if tuple(keys) == printed.statements:
        return 1.0
    shared = len(set(keys) & set(printed.statements))
    return min(0.99, 2 * shared / max(1, len(keys) + len(printed.statements)))


def live_module_text(
    name: str,
    module: Any,
    printed: Printed,
    source_of: Callable[[types.CodeType], str],
    seen: tuple[int, ...] = (),
    nested_texts: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """The class text of a live GraphModule and, nested in it, of the graph modules it calls.

    A branch that never ran has no Python yet; it is shown as torch printed it (``nested_texts``).
    """
    function = type(module).__dict__["forward"]
    lines = [f"class {_legal(name)}(torch.nn.Module):"]
    lines += ["    " + line if line else "" for line in annotate(source_of(function.__code__), printed)]
    children = dict(graph_children(module))
    for child_name in sorted(children | dict.fromkeys(nested_texts)):
        child, text = children.get(child_name), nested_texts.get(child_name, "")
        if child is None:
            nested = text.splitlines()
        elif id(child) in seen:
            continue
        else:
            inner = (read_printed(text), source_of, (*seen, id(module)), nested_texts_of(text))
            nested = live_module_text(child_name, child, *inner)
        lines += ["", *("    " + line if line else "" for line in nested)]
    return lines


INNER_CLASS = re.compile(r"^[ \t]+class ", re.M)


def nested_texts_of(text: str) -> dict[str, str]:
    """The classes directly inside the class of a printed graph, by name, each without its indentation."""
    if INNER_CLASS.search(text) is None or (tree := parsed(text)) is None:
        return {}
    lines = text.splitlines()
    outer = next((node for node in tree.body if isinstance(node, ast.ClassDef)), None)
    return {
        node.name: textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
        for node in (outer.body if outer else [])
        if isinstance(node, ast.ClassDef)
    }


def graph_children(module: Any) -> list[tuple[str, Any]]:
    """The direct submodules of a GraphModule that are graph modules themselves (bodies of higher-order ops) and have
    run: torch writes the Python of a graph when it is first called."""
    return [
        (name, child)
        for name, child in module._modules.items()
        if isinstance(forward := type(child).__dict__.get("forward"), types.FunctionType)
        and forward.__code__.co_filename.startswith("<eval_with_key>")
    ]


def registering_modules(text: str) -> tuple[str, ...]:
    """The modules to import before a graph runs whose operators ``import torch`` alone does not register.

    Only modules that this process has loaded are looked at; nothing is imported or called.

        torch.ops.prims.fma.default(a, b, c)    ->    torch._inductor.inductor_prims
    """
    if "torch.ops." not in text:
        return ()
    called = dict.fromkeys(pair for pair in operators_in(text) if pair[0] not in _ORDINARY)
    return tuple(sorted({home for pair in called if (home := _home(*pair))}))


_ONE_WAY = re.compile(
    r"\bhigher_order\.(?P<name>flex_attention|scan|associative_scan|autograd_function_apply|invoke_subgraph)\("
)


def one_way_operator(text: str) -> str:
    """The first operator in a text that Dynamo writes into a graph and cannot read back: a script of such a graph
    cannot be compiled; "" for none."""
    found = _ONE_WAY.search(text)
    return found["name"] if found is not None else ""


def operators_in(text: str) -> list[tuple[str, str]]:
    """Library and name of each operator that a text names: ``("aten", "add")``."""
    return _OPERATOR.findall(text)


def _home(library: str, name: str) -> str:
    torch = sys.modules.get("torch")
    packet = getattr(getattr(getattr(torch, "ops", None), library, None), name, None)
    if packet is None:
        return ""
    known = {id(packet), *(id(getattr(packet, overload)) for overload in _overloads(packet))}
    modules = [
        (module_name, getattr(module, "__dict__", {}))
        for module_name, module in sys.modules.copy().items()
        if module_name.startswith("torch.")
    ]
    homes = [module_name for module_name, names in modules if id(names.get(name)) in known]
    if not homes:  # made by ``torch.library.custom_op``
        whole = f"{library}::{name}"
        homes = [home for home, names in modules if any(_custom(value) == whole for value in list(names.values()))]
    if not homes:  # ``prims.inductor_seeds`` is called ``seeds`` where it is made
        homes = [module_name for module_name, names in modules if not known.isdisjoint(map(id, list(names.values())))]
    return min(homes, key=lambda home: (home.count("."), home), default="")


def _custom(value: Any) -> str:
    """``library::name`` of a ``CustomOpDef``; "" of anything else."""
    if type(value).__name__ != "CustomOpDef":
        return ""
    return f"{vars(value).get('_namespace')}::{vars(value).get('_name')}"


def _overloads(packet: Any) -> list[str]:
    overloads = getattr(packet, "overloads", None)
    return [str(overload) for overload in overloads()] if callable(overloads) else []


_NEXT = re.compile(r"^ +(.*) = next\(args_iter\)$", re.M)
_BOXED = re.compile(
    r"\(self, args_list\):\n +args_iter = iter\(args_list\)\n((?: +.* = next\(args_iter\)\n)*) +args_list\.clear\(\)\n"
)


def unboxed(text: str) -> str:
    """``text`` with the parameters of each graph that torch prints with one list of all arguments."""
    return _BOXED.sub(lambda found: f"({', '.join(['self', *_NEXT.findall(found[1])])}):\n", text)
