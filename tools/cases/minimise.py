"""Shrink a failing function while the reason of its failure stays the same.

    python -m tools.cases.minimise json/decoder.py:JSONDecoder.decode     a standard library file of the running version
    python -m tools.cases.minimise some/file.py[:qualname] --reason TEXT  the failure whose reason contains TEXT
    python -m tools.cases.minimise FILE --save                            file the result in tests/cases, named by its hash

Works on the syntax tree: delete statements, replace a compound statement by its body, drop handlers and ``else``
parts, replace expressions by their parts or by a name.  Run it with the interpreter whose bytecode fails.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import ROOT
from tools.corpus.triage import normal_form

Edit = Callable[[ast.Module], None]


def failures(source: str, ugly: bool = False) -> dict[str, str]:
    """Reason (in normal form) -> example, of everything that is wrong with the decompilation of ``source``."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit
    from depyf.decompiler.driver.pipeline import decompile_unit
    from depyf.decompiler.options import Options

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, "<minimise>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    try:
        result = decompile_unit(CodeUnit.from_code(code), Options(idioms=not ugly))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return {normal_form(reason): reason}
    bad = [f"{v.status.value}: {v.reason}" for v in result.verdicts if not v.proven]
    return {normal_form(reason): reason for reason in bad}


def bodies(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every list of statements, as (owner, field)."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                yield node, field


def edits(tree: ast.Module) -> Iterator[Edit]:
    """Edits that make the program smaller, big ones first.  Nodes are addressed by their index in ``ast.walk``."""
    order = {id(node): index for index, node in enumerate(ast.walk(tree))}
    places = [(order[id(node)], field, len(getattr(node, field))) for node, field in bodies(tree)]
    size = max((length for _, _, length in places), default=0)
    while size:
        for index, field, length in places:
            for start in range(0, length, size):
                if size <= length:
                    yield delete_statements(index, field, start, start + size)
        size //= 2
    for index, field, length in places:
        for position in range(length):
            yield hoist(index, field, position)
    for node in ast.walk(tree):
        index = order[id(node)]
        for field in ("orelse", "finalbody", "handlers", "decorator_list", "keywords", "items", "cases", "generators"):
            value = getattr(node, field, None)
            if isinstance(value, list):
                yield from (delete_item(index, field, position) for position in range(len(value)))
        for field in ("args", "elts", "values", "targets", "ops", "comparators", "ifs", "defaults", "kwonlyargs"):
            value = getattr(node, field, None)
            if isinstance(value, list):
                yield from (delete_item(index, field, position) for position in range(len(value)))
        for field in ("returns", "annotation", "vararg", "kwarg", "name", "optional_vars", "msg", "cause", "guard"):
            if getattr(node, field, None) is not None:
                yield clear(index, field)
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for position, child in enumerate(values):
                if isinstance(child, ast.expr) and not is_target(child):
                    where = position if isinstance(value, list) else None
                    yield from shrink_expression(order[id(node)], field, where, child)


def is_target(node: ast.expr) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def at(tree: ast.Module, index: int) -> ast.AST:
    for number, node in enumerate(ast.walk(tree)):
        if number == index:
            return node
    raise IndexError(index)


def delete_statements(index: int, field: str, start: int, end: int) -> Edit:
    def apply(tree: ast.Module) -> None:
        node = at(tree, index)
        body = getattr(node, field)
        del body[start:end]
        if not body and field == "body":
            body.append(ast.Pass())

    return apply


def hoist(index: int, field: str, position: int) -> Edit:
    """Replace a compound statement by the statements in it."""

    def apply(tree: ast.Module) -> None:
        body = getattr(at(tree, index), field)
        inner: list[ast.stmt] = []
        for name in ("body", "orelse", "finalbody"):
            inner += getattr(body[position], name, [])
        for part in [*getattr(body[position], "handlers", []), *getattr(body[position], "cases", [])]:
            inner += part.body
        body[position : position + 1] = inner or [ast.Pass()]

    return apply


def delete_item(index: int, field: str, position: int) -> Edit:
    def apply(tree: ast.Module) -> None:
        node = at(tree, index)
        del getattr(node, field)[position]
        if isinstance(node, ast.Compare):
            # an operator goes with its operand
            other = "comparators" if field == "ops" else "ops"
            del getattr(node, other)[position]

    return apply


def clear(index: int, field: str) -> Edit:
    def apply(tree: ast.Module) -> None:
        setattr(at(tree, index), field, None)

    return apply


def shrink_expression(index: int, field: str, position: int | None, child: ast.expr) -> Iterator[Edit]:
    def replace(make: Callable[[ast.expr], ast.expr]) -> Edit:
        def apply(tree: ast.Module) -> None:
            node = at(tree, index)
            if position is None:
                setattr(node, field, make(getattr(node, field)))
            else:
                values = getattr(node, field)
                values[position] = make(values[position])

        return apply

    def part(number: int) -> Callable[[ast.expr], ast.expr]:
        return lambda value: [c for c in ast.iter_child_nodes(value) if isinstance(c, ast.expr)][number]

    parts = [c for c in ast.iter_child_nodes(child) if isinstance(c, ast.expr)]
    for number in range(len(parts)):
        yield replace(part(number))
    if not isinstance(child, (ast.Name, ast.Constant)):
        yield replace(lambda _: ast.Name("a", ast.Load()))


def text_of(tree: ast.Module) -> str | None:
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (AttributeError, ValueError, TypeError, IndexError):
        return None  # an edit left a node without a part that it must have


def minimise(source: str, holds: Callable[[str], bool], seconds: float) -> str:
    """The smallest program found for which ``holds`` is still true."""
    deadline = time.monotonic() + seconds
    tree = ast.parse(source)
    best = text_of(tree) or source
    progress = True
    while progress:
        progress = False
        done = 0
        while True:
            # edits are regenerated after each success, but tried from where the last one succeeded
            for number, edit in enumerate(edits(tree)):
                if number < done:
                    continue
                if time.monotonic() > deadline:
                    return best
                candidate = copy.deepcopy(tree)
                try:
                    edit(candidate)
                except (IndexError, AttributeError, TypeError):
                    continue
                text = text_of(candidate)
                if text is None or len(text) >= len(best) or not holds(text):
                    continue
                tree, best, done, progress = ast.parse(text), text, number, True
                break
            else:
                break
    return best


def find(tree: ast.Module, qualname: str) -> ast.stmt | None:
    """The definition with this qualified name."""
    body: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for name in qualname.replace("<locals>.", "").split("."):
        if name.startswith("<"):
            break
        nodes = [n for statement in body for n in ast.walk(statement)]
        matching = [
            n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and n.name == name
        ]
        if not matching:
            return found
        found = matching[-1]
        body = matching[-1].body
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="FILE or FILE:QUALNAME")
    parser.add_argument("--reason", default="", help="the failure whose reason contains this")
    parser.add_argument("--ugly", action="store_true", help="with idioms off")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--save", action="store_true", help="write it to tests/cases")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    name, _, qualname = options.target.partition(":")
    path = Path(name) if Path(name).exists() else Path(sysconfig.get_paths()["stdlib"], name)
    source = path.read_text(encoding="utf-8")
    node = find(ast.parse(source), qualname) if qualname else None
    starts = [ast.unparse(node)] if node is not None else []
    for start in [*starts, source]:
        reasons = [key for key, full in failures(start, options.ugly).items() if options.reason in full]
        if reasons:
            break
    else:
        print("minimise: nothing fails here", file=sys.stderr)
        return 1
    wanted = reasons[0]
    text = minimise(start, lambda text: wanted in failures(text, options.ugly), options.seconds) + "\n"
    print(f"# {failures(text, options.ugly)[reasons[0]]}\n{text}", end="")
    if options.save:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        folder = ROOT / "tests" / "cases"
        target = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
        target.write_text(f"# versions: {version}\n{text}", encoding="utf-8")
        print(f"# saved as {target.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
