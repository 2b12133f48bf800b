"""A graph's page in a dump -> its classes, one by one, in the form that a script shows.

Input: a page of ``report.graph_page``.  Output: ``GraphClass``: parameters with their types, the body as lines
(comments kept, ``;  a = None`` taken out), the bodies of higher-order operators as children.  Boxed parameters
(``args_list``) become ordinary ones, and ``x = L_x_`` at the top becomes the parameter's name.
"""

from __future__ import annotations

import ast
import builtins
import functools
import keyword
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from depyf.run.graphs.graph_source import without_deletions
from depyf.run.graphs.program_comments import with_file
from depyf.safety.unheard import parse

_UNBOXED = re.compile(r'^(?P<name>\w+)(?:: "(?P<type>[^"]*)")? = next\(args_iter\)$')
_ALIAS = re.compile(r"^(?P<new>\w+) = (?P<old>\w+)$")
_COUNTER = re.compile(r"\bac_graph_id: \d+ - ")  # counts checkpoints in the process: another number in another run
_LIBRARY = re.compile(r"^.*/(?:site-packages|dist-packages|lib/python3\.\d+)/")
_LONG = re.compile(r"(?:^|_)(?:modules|parameters|buffers)_")
_DATA = re.compile(r"\btorch\._C\._autograd\._get_data_attr\((\w+)\)")  # what Dynamo writes for p.data, and cannot read
_CHECKPOINT = re.compile(r"\btorch\.ops\.higher_order\.tag_activation_checkpoint\(")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a graph: as the script calls it, as torch does, and its printed type."""

    name: str
    original: str
    type: str


@dataclass(frozen=True, slots=True)
class GraphClass:
    """One graph module.  ``path``: its attribute name in its parent, and so on outwards; () for the graph itself."""

    path: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    body: tuple[str, ...]
    children: tuple[GraphClass, ...]

    def tree(self) -> ast.FunctionDef:
        """The body as a function without parameters."""
        return _tree(self.body)

    def returned(self) -> tuple[str, ...]:
        """The names in ``return (a, b, c)``; "" for what is no name."""
        last = self.tree().body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] if value is not None else []
        return tuple(item.id if isinstance(item, ast.Name) else "" for item in items)

    def everything(self) -> Iterator[GraphClass]:
        """Children first."""
        for child in self.children:
            yield from child.everything()
        yield self


def read_graph(page: str, root: str) -> GraphClass | None:
    """The first class of a page; None where the page is not Python or has no graph.

    ``root`` is the folder relative to which the user's files are named in comments.
    """
    try:
        tree = parse(page)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef)), None)
    return _class(found, page.splitlines(), (), root) if found is not None else None


def _class(node: ast.ClassDef, lines: list[str], path: tuple[str, ...], root: str) -> GraphClass | None:
    forward = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
    if forward is None:
        return None
    body = textwrap.dedent("\n".join(lines[_header_end(forward, lines) : forward.end_lineno])).splitlines()
    body = [_line(line, root) for line in body]
    arguments = [*forward.args.posonlyargs, *forward.args.args][1:]
    parameters = [Parameter(a.arg, a.arg, _annotation(a.annotation)) for a in arguments]
    if forward.args.vararg is not None or forward.args.kwonlyargs:
        return None
    if [p.name for p in parameters] == ["args_list"]:
        parameters, body = _unboxed(body)
    parameters, body = _without_aliases(parameters, body)
    parameters, body = _shortened(parameters, body)
    children = [_class(n, lines, (*path, n.name), root) for n in node.body if isinstance(n, ast.ClassDef)]
    if any(child is None for child in children):
        return None
    return GraphClass(path, tuple(parameters), tuple(_trimmed(body)), tuple(c for c in children if c is not None))


def _header_end(forward: ast.FunctionDef, lines: list[str]) -> int:
    """The number of lines up to and including ``def forward(...):``."""
    last = max([forward.lineno, *(a.end_lineno or 0 for a in forward.args.args)])
    while not re.sub(r"#.*", "", lines[last - 1]).rstrip().endswith(":"):
        last += 1
    return last


def _annotation(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _line(line: str, root: str) -> str:
    if line.lstrip().startswith("#"):
        named = with_file(line, lambda path: short_path(path, root), lambda start: _COUNTER.sub("", start))
        return line.rstrip() if named == line else named
    line = _CHECKPOINT.sub("torch.utils.checkpoint.checkpoint(", without_deletions(line.rstrip()))
    return _DATA.sub(r"\1.data", line)


def short_path(path: str, root: str) -> str:
    """``transformers/loss/loss_utils.py`` for a library's file; relative to ``root`` for one below it."""
    if root and path.startswith(root.rstrip("/") + "/") and "/site-packages/" not in path[len(root) :]:
        return path[len(root.rstrip("/")) + 1 :]
    return _LIBRARY.sub("", path)


def _unboxed(body: list[str]) -> tuple[list[Parameter], list[str]]:
    parameters, rest = [], []
    for line in body:
        match = _UNBOXED.match(line)
        if match:
            parameters.append(Parameter(match["name"], match["name"], match["type"] or ""))
        elif line not in ("args_iter = iter(args_list)", "args_list.clear()"):
            rest.append(line)
    return parameters, rest


def _without_aliases(parameters: list[Parameter], body: list[str]) -> tuple[list[Parameter], list[str]]:
    words = re.findall(r"\w+", "\n".join(line for line in body if not line.lstrip().startswith("#")))
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    taken = {p.name for p in parameters}
    renamed: dict[str, str] = {}
    rest = []
    for line in body:
        match = _ALIAS.match(line)
        if match and match["old"] in taken and counts[match["old"]] == 1 and match["new"] not in taken:
            renamed[match["old"]] = match["new"]
            taken.add(match["new"])
        else:
            rest.append(line)
    return [Parameter(renamed.get(p.name, p.name), p.original, p.type) for p in parameters], rest


def _shortened(parameters: list[Parameter], body: list[str]) -> tuple[list[Parameter], list[str]]:
    """``l_self_modules_h_modules_0_modules_fc_parameters_weight_`` is called ``h_0_fc_weight``, unless that means
    something already."""
    code = "\n".join(line for line in body if not line.lstrip().startswith("#"))
    taken = {*re.findall(r"\w+", code), *(p.name for p in parameters), *dir(builtins), *_KNOWN}
    names: dict[str, str] = {}
    for parameter in parameters:
        short = _LONG.sub("_", parameter.name.removeprefix("l_self_")).removeprefix("l_").strip("_")
        if (
            parameter.name.startswith("l_")
            and short.isidentifier()
            and not keyword.iskeyword(short)
            and short not in taken
        ):
            names[parameter.name] = short
            taken.add(short)
    if not names:
        return parameters, body
    word = re.compile(r"(?<![\w.])(?:" + "|".join(map(re.escape, names)) + r")\b")
    renamed = [line if line.lstrip().startswith("#") else word.sub(lambda m: names[m.group()], line) for line in body]
    return [Parameter(names.get(p.name, p.name), p.original, p.type) for p in parameters], renamed


def _trimmed(body: list[str]) -> list[str]:
    """Without empty lines at the top, and no two in a row."""
    lines: list[str] = []
    for line in body:
        if line or (lines and lines[-1]):
            lines.append(line)
    return lines


_KNOWN = {
    "torch": "import torch",
    "math": "import math",
    "operator": "import operator",
    "device": "from torch import device",
    "inf": "from math import inf",
    "nan": "from math import nan",
    "NoneType": "from types import NoneType",
    "fx_pytree": "import torch.fx._pytree as fx_pytree",
    "pytree": "import torch.utils._pytree as pytree",
}
_MODULES = ("operator", "_operator", "math", "builtins")


def imports_of(graphs: list[GraphClass], functions: dict[str, str]) -> tuple[list[str], list[str]]:
    """The import lines that the bodies need, definitions among them, and the names that remain undefined.

    ``functions``: the names under which torch.fx calls what torch made for the graph -> the expression that makes it.
    """
    lines: dict[str, None] = {}
    unknown: list[str] = []
    for name in sorted({name for graph in graphs for one in graph.everything() for name in free_names(one)}):
        module = next((m for m in _MODULES if name.startswith(m + "_")), None)
        if name in _KNOWN:
            lines[_KNOWN[name]] = None
        elif name in functions:
            made = parse(functions[name], mode="eval").body
            used = [made.func, *made.args] if isinstance(made, ast.Call) else [made]
            lines |= {f"import {ast.unparse(part.value)}": None for part in used if isinstance(part, ast.Attribute)}
            lines[f"{name} = {functions[name]}"] = None
        elif module is not None:
            lines[f"from {module} import {name[len(module) + 1 :]} as {name}"] = None
        elif not hasattr(builtins, name):
            unknown.append(name)
    return list(lines), unknown


def free_names(graph: GraphClass) -> set[str]:
    """The names that a body reads and does not bind."""
    bound = {p.name for p in graph.parameters} | {"self"}
    read: set[str] = set()
    for node in ast.walk(graph.tree()):
        if isinstance(node, ast.Name):
            (bound if isinstance(node.ctx, ast.Store) else read).add(node.id)
    return read - bound


def attributes_of(graph: GraphClass) -> tuple[str, ...]:
    """What a body reads from ``self``, in order: ``_tensor_constant0``, ``layers.0.mask``."""
    found: dict[str, None] = {}
    tree = graph.tree()
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            text = ast.unparse(node)
            if text.startswith("self."):
                found[text[5:]] = None
    return tuple(found)


@functools.lru_cache(64)
def _tree(body: tuple[str, ...]) -> ast.FunctionDef:
    text = "def forward():\n" + textwrap.indent("\n".join(body) or "pass", "    ")
    tree = parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree
