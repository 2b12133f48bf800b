"""How the decompiled text of whole files reads beside their sources: functions whose syntax tree differs.

    python -m tools.corpus.readdiff json asyncio argparse.py         modules of the host's standard library, by part of the path
    python -m tools.corpus.readdiff --limit 50                       fifty files, evenly spread
    python -m tools.corpus.readdiff --limit 50 --kind "If" --show 5  source and text of five functions of one kind

Two trees are compared after taking away what no bytecode tells: comments, dead code, folded constants, annotations of
variables in functions, ``global``, ``return`` against ``return None``, a list where the optimiser made a tuple of it.  The
first place where they part gives the kind; the kinds are printed with their counts, most frequent first.
"""

from __future__ import annotations

import argparse
import ast
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import DepyfError
from tools.corpus.corpus import select, sources

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Normal(ast.NodeTransformer):
    """Takes away what the bytecode does not tell; works on both sides."""

    def __init__(self) -> None:
        self.local = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        before, self.local = self.local, True
        self.generic_visit(node)
        self.local = before
        node.body = self._block(node.body)
        while len(node.body) > 1 and isinstance(node.body[-1], ast.Return) and node.body[-1].value is None:
            node.body.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self.local = self.local, False
        self.generic_visit(node)
        self.local = before
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, self._block(block, empty=name != "body"))
        return node

    def _block(self, block: list[ast.stmt], empty: bool = False) -> list[ast.stmt]:
        """Without what does nothing, and without what comes after a jump."""
        kept: list[ast.stmt] = []
        for stmt in block:
            if isinstance(stmt, (ast.Pass, ast.Global, ast.Nonlocal)):
                continue
            if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
                continue
            if isinstance(stmt, ast.If) and isinstance(stmt.test, ast.Constant):
                kept.extend(stmt.body if stmt.test.value else stmt.orelse)
            else:
                kept.append(stmt)
            if kept and isinstance(kept[-1], (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                break
        return kept if kept or empty else [ast.Pass()]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if not self.local:
            return node
        if node.value:
            return ast.Assign([node.target], node.value)
        # of ``self.x: int`` the object is evaluated
        return ast.Expr(node.target.value) if isinstance(node.target, ast.Attribute) else None

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            node.value = None
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            values += value.values if isinstance(value, ast.BoolOp) and type(value.op) is type(node.op) else [value]
        node.values = values
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._tested(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return self._tested(node)

    def _tested(self, node: ast.If | ast.While | ast.IfExp | ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self._inward(node.test)
        return node

    def _inward(self, test: ast.expr, negated: bool = False) -> ast.expr:
        """A test with ``not`` before its parts only: the jumps of ``not (a and b)`` are those of ``not a or not b``."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._inward(test.operand, not negated)
        if isinstance(test, ast.BoolOp):
            swapped = ast.Or() if isinstance(test.op, ast.And) else ast.And()
            values = [self._inward(value, negated) for value in test.values]
            joined = ast.BoolOp(swapped if negated else test.op, values)
            return self.visit_BoolOp(joined)  # type: ignore[return-value]
        return ast.UnaryOp(ast.Not(), test) if negated else test

    def visit_While(self, node: ast.While) -> ast.AST:
        self._tested(node)
        if isinstance(node.test, ast.Constant) and node.test.value:
            node.test = ast.Constant(True)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._folded(node, node.operand)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return ast.Constant("a format")  # the compiler makes an f-string of a simple one
        return self._folded(node, node.left, node.right)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        return node

    def _folded(self, node: ast.expr, *parts: ast.expr) -> ast.AST:
        if all(isinstance(part, ast.Constant) for part in parts):
            try:
                return ast.Constant(eval(ast.unparse(node), {"__builtins__": {}}))
            except Exception:
                return node
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and all(isinstance(item, ast.Constant) for item in node.elts):
            return ast.Constant(tuple(item.value for item in node.elts if isinstance(item, ast.Constant)))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._display(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._display(node.iter)
        node.ifs = [self._inward(test) for test in node.ifs]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        self.generic_visit(node)
        node.guard = self._inward(node.guard) if node.guard else None
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ops[-1], (ast.In, ast.NotIn)):
            node.comparators[-1] = self._display(node.comparators[-1])
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if len(node.elts) == 1 and isinstance(node.elts[0], ast.Starred):
            starred = node.elts[0].value  # how the optimiser builds a long constant list
            if isinstance(starred, ast.Constant) and isinstance(starred.value, tuple):
                node.elts = [ast.Constant(value) for value in starred.value]
        return node

    def _display(self, node: ast.expr) -> ast.expr:
        if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
            return ast.Tuple(node.elts, ast.Load()) if not _constant(node) else ast.Constant(_values(node))
        return node


def _constant(node: ast.List | ast.Set | ast.Tuple) -> bool:
    return all(isinstance(item, ast.Constant) for item in node.elts)


def _values(node: ast.List | ast.Set | ast.Tuple) -> tuple[object, ...]:
    return tuple(item.value for item in node.elts if isinstance(item, ast.Constant))


@dataclass(frozen=True)
class Difference:
    """One function that reads differently; ``kind`` says where and how the trees part first."""

    file: str
    name: str
    kind: str
    source: str
    ours: str


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """The functions of a tree with their qualified names, outer first; the inner ones stand in their text too."""
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}.{node.name}" if prefix else node.name
            if not isinstance(node, ast.ClassDef):
                yield name, node
        yield from functions(node, name)


def without_inner(node: Function) -> ast.AST:
    """The body of a function, each function inside it without its own."""

    class Emptied(ast.NodeTransformer):
        def visit_FunctionDef(self, inner: ast.FunctionDef) -> ast.AST:
            return ast.Expr(ast.Constant(f"def {inner.name}"))

        def visit_AsyncFunctionDef(self, inner: ast.AsyncFunctionDef) -> ast.AST:
            return ast.Expr(ast.Constant(f"def {inner.name}"))

    return ast.Module([Emptied().visit(stmt) for stmt in node.body], [])


def parting(source: object, ours: object, where: str = "") -> str:
    """Where two trees part first, in words; "" where they do not."""
    if isinstance(source, list) and isinstance(ours, list):
        for left, right in zip(source, ours):
            found = parting(left, right, where)
            if found:
                return found
        if len(source) != len(ours):
            more, less = (source, ours) if len(source) > len(ours) else (ours, source)
            side = "source has also" if more is source else "text has also"
            return f"{where}: {side} {_shape(more[len(less)])}"
        return ""
    if isinstance(source, ast.AST) and isinstance(ours, ast.AST):
        if type(source) is not type(ours):
            return f"{where}: {_shape(source)} -> {_shape(ours)}"
        for field in source._fields:
            if field in ("ctx", "type_comment", "kind"):
                continue
            found = parting(getattr(source, field), getattr(ours, field), f"{type(source).__name__}.{field}")
            if found:
                return found
        return ""
    return "" if repr(source) == repr(ours) else f"{where}: {_shape(source)} -> {_shape(ours)}"


def _shape(node: object) -> str:
    if isinstance(node, ast.If):
        return "If-else" if node.orelse else "If"
    if isinstance(node, ast.UnaryOp):
        return type(node.op).__name__
    if isinstance(node, ast.Expr):
        return f"Expr {type(node.value).__name__}"
    return type(node).__name__


def compare(root: Path, name: str) -> tuple[int, list[Difference]]:
    """How many functions one file has, and those that read differently."""
    text = (root / name).read_bytes()
    try:
        source = ast.parse(text)
        ours_text = decompile_unit(CodeUnit.from_code(compile(text, name, "exec", dont_inherit=True))).source
        ours = ast.parse(ours_text)
    except (SyntaxError, ValueError, DepyfError):
        return 0, []
    return differences(name, source, ours)


def differences(name: str, source: ast.AST, ours: ast.AST) -> tuple[int, list[Difference]]:
    """How many functions the tree of a source has, and those that read differently in ours."""
    written: dict[str, list[Function]] = {}
    for qualname, node in functions(ours):
        written.setdefault(qualname, []).append(node)
    found: list[Difference] = []
    count = 0
    for qualname, node in functions(source):
        others = written.get(qualname)
        if not others:
            continue  # dead code
        other = others.pop(0)
        count += 1
        texts = ast.unparse(node), ast.unparse(other)
        sides = [without_inner(Normal().visit(ast.parse(side).body[0])) for side in texts]
        kind = parting(sides[0].body, sides[1].body)  # type: ignore[attr-defined]
        if kind:
            found.append(Difference(name, qualname, kind, *texts))
    return count, found


def main() -> int:
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="files whose path contains one of these")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--path", type=Path, default=Path(sysconfig.get_paths()["stdlib"]))
    parser.add_argument("--kind", help="list the functions of kinds that contain this")
    parser.add_argument("--show", type=int, default=0, help="print both texts of this many")
    options = parser.parse_args()
    names = [name for name in sources(options.path) if not options.parts or any(p in name for p in options.parts)]
    total, found = 0, list[Difference]()
    for name in select(names, None, options.limit):
        count, differences = compare(options.path, name)
        total += count
        found += differences
    if options.kind:
        found = [difference for difference in found if options.kind in difference.kind]
        for number, difference in enumerate(found):
            print(f"{difference.file}: {difference.name}: {difference.kind}")
            if number < options.show:
                print(f"--- source\n{difference.source}\n--- ours\n{difference.ours}\n")
    for kind, number in Counter(difference.kind for difference in found).most_common():
        print(f"{number:5}  {kind}")
    print(f"{len(found)} of {total} functions read differently")
    return 0


if __name__ == "__main__":
    sys.exit(main())
