"""Transformed code -> the same code as part of a package: what Dynamo installed in the program's globals gets a name
there.

Input: the text of a ``__transformed_code_*`` file.  Output: ``Rewritten``: the ``def`` with its comments, without
torch's bookkeeping; graphs, resume functions and builtins under names that a person reads; ``hooks.NAME`` for what only
the process that compiled had.  Everything is done on the tree of the text, by place.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from depyf.actions.export.texts.left_out import left_out
from depyf.actions.scripts.carried_text import bound_names
from depyf.decompiler.emit.comments import remark, source_lines
from depyf.decompiler.emit.entry import MAKER
from depyf.run.global_names import GRAPH, RESUME, imported_module
from depyf.safety.unheard import parse

HELPERS = frozenset({"call_size", "call_stride", "call_storage_offset", "object_setattr_ignore_descriptor"})
"""Functions of ``torch._dynamo.utils`` that transformed code calls, and which the package has itself."""
ORIGINAL = "original"
"""The module of the package that has code of the program."""
_UTILS = "torch._dynamo.utils"
_BOOKKEEPING = frozenset({"record_pregraph_bytecode_enter", "record_pregraph_bytecode_exit"})
_BUILTINS = re.compile(r"__builtins_dict__\w*")
_CELL = re.compile(r"__cell_(\w+)")


@dataclass(slots=True)
class Rewritten:
    """The text of a transformed function in a package, and the names that it needs."""

    text: str = ""
    shadowed: bool = False
    """Whether a function of ``runtime`` goes by its full name, because a variable has the short one."""
    free: tuple[str, ...] = ()
    """The free variables, in the order of the cells; the text is then that of a function that makes it."""
    imports: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    graphs: dict[str, None] = field(default_factory=dict)
    hooks: dict[str, str] = field(default_factory=dict)
    """Name -> what it stands for."""


def rewrite(
    source: str,
    name: str,
    names: Mapping[str, str],
    modules: Mapping[str, str],
    lines: Iterable[tuple[int, str]] = (),
    definitions: Iterable[str] = (),
) -> Rewritten:
    """``name``: how the function is called in the package.  ``names``: graphs and resume functions as the dump calls
    them -> as the package does.  ``modules``: globals that are modules.  ``lines``: where other lines of the program
    begin, and which.  ``definitions``: statements that define constants.  SyntaxError where ``source`` is no Python."""
    tree = parse(source)
    outer = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    inner = outer
    done = Rewritten()
    if outer.name.startswith(MAKER):
        inner = next(node for node in outer.body if isinstance(node, ast.FunctionDef))
        done.free = tuple(a.arg for a in outer.args.args)
    first = min([outer.lineno, *(d.lineno for d in outer.decorator_list)])
    before = [node for node in tree.body if node.end_lineno and node.end_lineno < first and not _is_future(node)]
    constants, imported = _begins_with(definitions)
    edits = _Edits(source, names, {**modules, **imported}, constants, done, bound_names(outer, *before))
    edits.rename(outer, f"make_{name}" if outer is not inner else name)
    if inner is not outer:
        edits.rename(inner, name)
        edits.returned(outer, inner.name, name)
    never = [node.lineno for node in ast.walk(outer) if isinstance(node, ast.If) and _is_false(node.test)]
    edits.leave_out(outer)
    edits.visit(outer)
    start = before[0].lineno if before else first
    left = source_lines(edits.applied())[edits.line(start) : edits.line((outer.end_lineno or 0) + 1)]
    kept = {
        number: edits.line(number) - edits.line(start) for number in (*never, *dict(lines)) if number not in edits.gone
    }
    places = {kept[number]: place for number, place in lines if number in kept}
    done.text = "\n".join(_tidy(left, places, {kept[number] for number in never if number in kept})).strip("\n")
    return done


def _is_false(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and test.value == 0


def _begins_with(definitions: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The constants that statements define: name -> expression, name -> ``module`` or ``module:member``."""
    constants: dict[str, str] = {}
    imported: dict[str, str] = {}
    for statement in definitions:
        try:
            node = parse(statement).body[0]
        except (SyntaxError, IndexError):
            continue
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = ast.unparse(_Torch().visit(node.value))
        elif isinstance(node, ast.Import):
            imported[node.names[0].asname or node.names[0].name] = node.names[0].name
        elif isinstance(node, ast.ImportFrom):
            imported[node.names[0].asname or node.names[0].name] = f"{node.module}:{node.names[0].name}"
    return constants, imported


class _Torch(ast.NodeTransformer):
    """``__import__("torch")`` is ``torch``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "__import__":
            return ast.Name("torch", ast.Load())
        return self.generic_visit(node)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _module(name: str) -> str:
    """The module that a global which Dynamo invented is; "" where it is none, or the name does not say it for sure."""
    module = re.fullmatch(r"_*module_([a-z]+)_c\d+", name)
    if module is not None and module[1] in sys.stdlib_module_names:
        return module[1]
    return imported_module(name)


def _is_of_torch(node: ast.expr) -> bool:
    """A flag in one of torch's modules."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and bool(imported_module(node.value.id))


class _Edits:
    """Replacements by place in one text; lines keep their numbers but for those that are taken out."""

    def __init__(
        self,
        source: str,
        names: Mapping[str, str],
        modules: Mapping[str, str],
        constants: Mapping[str, str],
        done: Rewritten,
        bound: frozenset[str],
    ) -> None:
        self.lines = [line.encode() for line in source.split("\n")]
        self.names, self.modules, self.done, self.bound = names, modules, done, bound
        self.constants = constants
        self.edits: list[tuple[int, int, int, bytes]] = []
        self.gone: set[int] = set()
        self.dropped: set[ast.stmt] = set()
        self.emptied: dict[int, int] = {}
        """The line where ``pass`` stands for a block that is left out -> how far it is indented."""

    def rename(self, node: ast.FunctionDef, new: str) -> None:
        line = self.lines[node.lineno - 1]
        start = line.index(b"def ", node.col_offset) + 4
        self.edits.append((node.lineno, start, start + len(node.name.encode()), new.encode()))

    def returned(self, outer: ast.FunctionDef, old: str, new: str) -> None:
        last = outer.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == old:
            self._put(last.value, new)

    def leave_out(self, outer: ast.FunctionDef) -> None:
        """torch's bookkeeping, and declarations of globals that are no globals of the package."""
        found = left_out(outer, self._is_unwanted, _is_of_torch)
        self.dropped = found.statements
        for node in found.statements:
            self.gone.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        for node in found.emptied:
            self.gone.discard(node.lineno)
            self.emptied[node.lineno] = node.col_offset

    def visit(self, node: ast.AST) -> None:
        if node in self.dropped:
            return
        if isinstance(node, (ast.Attribute, ast.Subscript)) and self._dotted(node):
            return
        if isinstance(node, ast.Name):
            self._name(node)
            return
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    @staticmethod
    def _is_unwanted(node: ast.stmt) -> bool:
        if isinstance(node, ast.Global):
            return True
        value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
        called = value.func if isinstance(value, ast.Call) else None
        return (
            isinstance(called, ast.Attribute)
            and called.attr in _BOOKKEEPING
            and isinstance(called.value, ast.Name)
            and imported_module(called.value.id) == _UTILS
        )

    def _dotted(self, node: ast.Attribute | ast.Subscript) -> bool:
        """``__import_x.f`` and ``__builtins_dict__["f"]`` in one piece."""
        base = node.value
        if not isinstance(base, ast.Name):
            return False
        if isinstance(node, ast.Attribute):
            if imported_module(base.id) == _UTILS and node.attr in HELPERS:
                self._put(node, self._helper(node.attr))
                return True
            return False
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if _BUILTINS.fullmatch(base.id) and isinstance(key, str) and hasattr(builtins, key) and key not in self.bound:
            self._put(node, key)
            return True
        return False

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if name in self.bound:
            return
        if (cell := _CELL.fullmatch(name)) is not None:
            self._put(node, f"{self._helper('cell')}(lambda: {cell[1]})")
        elif found := _module(name) or self.modules.get(name, ""):
            module, _, member = found.partition(":")
            if module != ORIGINAL:
                self.done.imports.add(module)
            self._put(node, f"{module}.{member}" if member else module)
        elif name in self.constants:
            if "torch." in self.constants[name]:
                self.done.imports.add("torch")
            self._put(node, self.constants[name])
        elif name in self.names:
            if name.startswith(GRAPH):
                self.done.graphs[name] = None
            self._put(node, self.names[name])
        elif _BUILTINS.fullmatch(name):
            self.done.imports.add("builtins")
            self._put(node, "vars(builtins)")
        elif name == "torch":
            self.done.imports.add("torch")
        elif not hasattr(builtins, name):
            hook = name.lstrip("_") or "value"
            self.done.hooks[hook] = (
                f"the global {name} of the program" if not name.startswith("__") else _invented(name)
            )
            self._put(node, f"{'package_hooks' if 'hooks' in self.bound else 'hooks'}.{hook}")

    def _helper(self, name: str) -> str:
        """A function of ``runtime``, past a variable of the same name."""
        if name in self.bound:
            self.done.shadowed = True
            return f"runtime.{name}"
        self.done.helpers.add(name)
        return name

    def _put(self, node: ast.expr, text: str) -> None:
        """``node``, which stands on one line, is ``text`` (what follows on its other lines is a subscript or an
        attribute)."""
        if node.lineno == node.end_lineno:
            self.edits.append((node.lineno, node.col_offset, node.end_col_offset or 0, text.encode()))
        else:
            self.edits.append((node.lineno, node.col_offset, len(self.lines[node.lineno - 1]), text.encode()))
            for number in range(node.lineno + 1, node.end_lineno or 0):
                self.gone.add(number)
            self.edits.append((node.end_lineno or 0, 0, node.end_col_offset or 0, b""))

    def applied(self) -> str:
        for line, start, end, text in sorted(self.edits, reverse=True):
            whole = self.lines[line - 1]
            self.lines[line - 1] = whole[:start] + text + whole[end:]
        for line, indented in self.emptied.items():
            self.lines[line - 1] = b" " * indented + b"pass"
        return b"\n".join(line for number, line in enumerate(self.lines, 1) if number not in self.gone).decode()

    def line(self, number: int) -> int:
        """The index of line ``number`` in what is left."""
        return number - 1 - sum(gone < number for gone in self.gone)


def _invented(name: str) -> str:
    if name.startswith("__const_"):
        return "a constant of the transformed code that no text can hold"
    if name.startswith(RESUME):
        return "the rest of the function on a way that no call took while it was recorded, so that it was not compiled"
    return f"{name}, which Dynamo put into the globals of the program"


def _tidy(lines: list[str], places: Mapping[int, str], stay: Collection[int]) -> Iterator[str]:
    """Without the remarks that explain what stood there before; ``places``: the user's lines, by the index of the first
    line that comes from each; ``stay``: the lines that stay as they are."""
    text = "\n".join(lines)
    comments = {
        token.start[0]: token.start[1]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    for number, line in enumerate(lines):
        start = comments.get(number + 1)
        if start is None or number in stay or not line[:start].strip():
            yield line
        else:
            yield remark(line[:start].rstrip(), places.get(number, ""))
