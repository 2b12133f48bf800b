"""Negative control: meaning-changing edits of real source, each of which the verifier must reject.

    python tools/mutate.py --count 2000 [--seed 0] [--only json]

Functions are taken from the standard library.  One edit each: swapped operands, another operator or constant, a moved
or deleted statement, another name or attribute, an inverted test, ``break`` for ``continue``, another handler.  Edited
and original function are compiled and compared; an edit that the compiler itself makes no difference of (same code
bytes) does not count.  Survivors are printed as diffs: each one is a bug of the verifier or an edit that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import random
import sys
import sysconfig
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

Edit = tuple[str, Callable[[], None]]

OTHER_OPERATOR: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.UAdd: ast.USub, ast.USub: ast.UAdd, ast.Not: ast.Invert, ast.Invert: ast.Not,
}  # fmt: skip


def setter(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def swapper(items: list[ast.AST], i: int, j: int) -> Callable[[], None]:
    def apply() -> None:
        items[i], items[j] = items[j], items[i]

    return apply


def observable(node: ast.AST) -> bool:
    """Whether deleting or moving this statement can be noticed for sure: it calls something or leaves."""
    return any(isinstance(n, (ast.Call, ast.Return, ast.Raise, ast.Yield, ast.Await)) for n in ast.walk(node))


def edits_of(tree: ast.AST) -> Iterator[Edit]:
    """Every edit of a tree that is modified in place when it is applied."""
    for node in ast.walk(tree):
        for name in ("op",):
            other = OTHER_OPERATOR.get(type(getattr(node, name, None)))  # type: ignore[arg-type]
            if other is not None:
                yield "operator", setter(node, name, other())
        if isinstance(node, ast.BinOp) and ast.dump(node.left) != ast.dump(node.right):
            yield "operands", exchange(node)
        if isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                if type(op) in OTHER_OPERATOR:
                    yield "comparison", replace_item(node.ops, i, OTHER_OPERATOR[type(op)]())
        if isinstance(node, ast.Constant) and not isinstance(node.value, (type(...), bytes)):
            yield "constant", setter(node, "value", other_constant(node.value))
        if isinstance(node, ast.Attribute):
            yield "attribute", setter(node, "attr", node.attr + "_")
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield "inverted test", setter(node, "test", ast.UnaryOp(ast.Not(), node.test))
        if isinstance(node, ast.Call) and len(node.args) > 1:
            if ast.dump(node.args[0]) != ast.dump(node.args[1]):
                yield "arguments", swapper(node.args, 0, 1)  # type: ignore[arg-type]
        if isinstance(node, ast.Return) and node.value is not None:
            yield "return value", setter(node, "value", ast.Constant("other"))
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield "handler", setter(node, "type", ast.Name("OtherError", ast.Load()))
        if isinstance(node, ast.Try) and len(node.handlers) > 1:
            yield "handlers", swapper(node.handlers, 0, 1)  # type: ignore[arg-type]
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield from statement_edits(body)


def statement_edits(body: list[ast.AST]) -> Iterator[Edit]:
    for i, statement in enumerate(body):
        if observable(statement) and not isinstance(statement, ast.Return):
            yield "deleted statement", replace_item(body, i, ast.Pass())
        if isinstance(statement, ast.Break):
            yield "break", replace_item(body, i, ast.Continue())
        if isinstance(statement, ast.Continue) and i == len(body) - 1:
            yield "continue", replace_item(body, i, ast.Break())
        if i + 1 < len(body) and observable(statement) and observable(body[i + 1]):
            if ast.dump(statement) != ast.dump(body[i + 1]):
                yield "moved statement", swapper(body, i, i + 1)


def exchange(node: ast.BinOp) -> Callable[[], None]:
    def apply() -> None:
        node.left, node.right = node.right, node.left

    return apply


def replace_item(items: list[ast.AST], index: int, value: ast.AST) -> Callable[[], None]:  # type: ignore[type-arg]
    def apply() -> None:
        items[index] = value

    return apply


def other_constant(value: object) -> object:
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    return value + 1  # type: ignore[operator]


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether the compiler wrote the same thing, tables of line numbers apart."""
    if (a.co_code, a.co_names, a.co_varnames, a.co_flags) != (b.co_code, b.co_names, b.co_varnames, b.co_flags):
        return False
    if len(a.co_consts) != len(b.co_consts) or a.co_exceptiontable != b.co_exceptiontable:
        return False
    for x, y in zip(a.co_consts, b.co_consts):
        both = isinstance(x, types.CodeType) and isinstance(y, types.CodeType)
        if not (same_code(x, y) if both else repr(x) == repr(y) and type(x) is type(y)):
            return False
    return True


def functions() -> list[tuple[str, ast.AST]]:
    """Every function of the standard library's top-level modules that is of moderate size."""
    found: list[tuple[str, ast.AST]] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and 3 < sum(1 for _ in ast.walk(node)) < 800:
                found.append((f"{path.name}:{node.name}", node))
    return found


def compile_function(node: ast.AST) -> types.CodeType | None:
    module = ast.Module([node], [])  # type: ignore[list-item]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(ast.unparse(ast.fix_missing_locations(module)), "f", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def one_edit(name: str, node: ast.AST, pick: random.Random) -> tuple[str, str, bool] | None:
    """Kind of edit, diff, and whether the verifier rejected it; None where the edit is none."""
    from depyf.bytecode.codeunit import CodeUnit
    from depyf.verify.verify import verify

    edited = copy.deepcopy(node)
    possible = list(edits_of(edited))
    if not possible:
        return None
    kinds = sorted({kind for kind, _ in possible})
    kind = pick.choice(kinds)
    pick.choice([apply for each, apply in possible if each == kind])()
    before, after = compile_function(node), compile_function(edited)
    if before is None or after is None or same_code(before, after):
        return None
    verdicts = verify(CodeUnit.from_code(before), CodeUnit.from_code(after))
    rejected = not all(verdict.proven for verdict in verdicts)
    texts = [ast.unparse(tree).splitlines() for tree in (node, edited)]
    diff = "\n".join(difflib.unified_diff(*texts, name, kind, lineterm="", n=2))
    return kind, diff, rejected


def run(count: int, seed: int, only: str | None = None) -> tuple[Counter[str], list[str]]:
    """How many edits of each kind were tried, and the diffs of those that were accepted."""
    pick = random.Random(seed)
    pool = [(name, node) for name, node in functions() if only is None or only in name]
    tried: Counter[str] = Counter()
    accepted: list[str] = []
    for _ in range(count * 20):
        if sum(tried.values()) >= count:
            break
        outcome = one_edit(*pick.choice(pool), pick)
        if outcome is not None:
            tried[outcome[0]] += 1
            if not outcome[2]:
                accepted.append(outcome[1])
    return tried, accepted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="files whose name contains this")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    tried, accepted = run(options.count, options.seed, options.only)
    for diff in accepted:
        print(diff + "\n")
    for kind, number in sorted(tried.items()):
        print(f"{number:6}  {kind}")
    print(f"{sum(tried.values()) - len(accepted)} of {sum(tried.values())} edits rejected")
    return 1 if accepted else 0


if __name__ == "__main__":
    sys.exit(main())
