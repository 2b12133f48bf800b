"""Negative control: meaning-changing edits of real source, each of which the verifier must reject.

    python -m tools.proof.mutate --count 2000 [--seed 0] [--only json] [--version 3.13]

Functions are taken from the standard library and its tests.  One edit each, of the kinds in ``wrong_edits.py`` and
``wrong_structure.py``.  Edited and original function are compiled by the interpreter of that version (which runs nothing of
them) and compared; an edit that the compiler itself makes no difference of does not count.  Survivors are printed as
diffs: each one is a bug of the verifier or an edit that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import random
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.proof.wrong_edits import EDITS, bodies, never_true
from tools.proof.wrong_structure import STRUCTURE_EDITS

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
ALL = {**EDITS, **STRUCTURE_EDITS}
TESTS = ("test_grammar", "test_generators", "test_patma", "test_asyncgen", "test_with", "test_exceptions", "test_fstring",
         "test_coroutines", "test_contextlib", "test_scope", "test_dictcomps", "test_unpack_ex", "test_except_star")  # fmt: skip


def edits_of(tree: ast.AST) -> list[tuple[str, Callable[[], None]]]:
    """Every edit of a tree that is modified in place when it is applied; what never runs is left alone."""
    dead = {id(n) for node in ast.walk(tree) if never_true(node) for n in ast.walk(node)}
    dead |= {
        id(n) for node in ast.walk(tree) for body in bodies(node) for stmt in behind_end(body) for n in ast.walk(stmt)
    }
    unseen = {id(constant) for constant in unseen_constants(tree)}
    return [
        (name, apply)
        for node in ast.walk(tree)
        if id(node) not in dead
        for name, edit in ALL.items()
        if name != "change_constant" or id(node) not in unseen
        for apply in edit(node)
    ]


def unseen_constants(tree: ast.AST) -> Iterator[ast.AST]:
    """Constants whose value nothing depends on: in a statement of their own, as a test, in a variable that is never read."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.JoinedStr):
            yield from node.value.values
        elif isinstance(node, (ast.While, ast.If, ast.IfExp)):
            yield node.test
        elif isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            if not any(target.id in names for target in node.targets if isinstance(target, ast.Name)):
                yield node.value


def behind_end(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that a ``return``, ``raise``, ``break`` or ``continue`` of the same body keeps from running."""
    ends = (ast.Return, ast.Raise, ast.Break, ast.Continue)
    return body[next((i + 1 for i, stmt in enumerate(body) if isinstance(stmt, ends)), len(body)) :]


def foreseeable(function: ast.AST) -> bool:
    """Whether a ``match`` of the function has a subject that is known beforehand: most of its cases then never run."""
    known = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and not any(isinstance(part, ast.Call) for part in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    subjects = [node.subject for node in ast.walk(function) if isinstance(node, ast.Match)]
    return any(
        isinstance(subject, ast.Constant) or isinstance(subject, ast.Name) and subject.id in known
        for subject in subjects
    )


def same_code(a: Any, b: Any) -> bool:
    """Whether the compiler wrote the same thing, tables of line numbers apart."""
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    for field in (
        "code",
        "names",
        "varnames",
        "cellvars",
        "freevars",
        "flags",
        "exctable",
        "argcount",
        "kwonlyargcount",
    ):
        if getattr(a, field) != getattr(b, field):
            return False
    if a.posonlyargcount != b.posonlyargcount or len(a.consts) != len(b.consts):
        return False
    for x, y in zip(a.consts, b.consts, strict=True):
        both = isinstance(x, CodeUnit) and isinstance(y, CodeUnit)
        if not (same_code(x, y) if both else repr(x) == repr(y) and type(x) is type(y)):
            return False
    return True


def functions() -> list[tuple[str, ast.AST]]:
    """Every function of moderate size of the standard library's top-level modules and of some of its tests."""
    found: list[tuple[str, ast.AST]] = []
    library = Path(sysconfig.get_paths()["stdlib"])
    tests = [library / "test" / f"{name}.py" for name in TESTS]
    for path in [*sorted(library.glob("*.py")), *tests]:
        if not path.exists():  # Debian packages the tests apart, and has links there that lead nowhere
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and 3 < sum(1 for _ in ast.walk(node)) < 800:
                if foreseeable(node):
                    continue
                found.append((f"{path.name}:{node.name}", node))
    return found


def compile_function(node: ast.AST, version: tuple[int, int]) -> Any:
    """The module that defines the function, as a code unit of that version; None where it does not compile."""
    from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile

    module = ast.Module([node], [])  # type: ignore[list-item]
    try:
        return recompile(ast.unparse(ast.fix_missing_locations(module)), version).unit
    except (RecompileError, ValueError, AttributeError, RecursionError):
        return None


def one_edit(name: str, node: ast.AST, pick: random.Random, version: tuple[int, int]) -> tuple[str, str, bool] | None:
    """Kind of edit, diff, and whether the verifier rejected it; None where the edit is none."""
    from depyf.decompiler.verify.whole import verify

    edited = copy.deepcopy(node)
    possible = edits_of(edited)
    if not possible:
        return None
    kind = pick.choice(sorted({kind for kind, _ in possible}))
    pick.choice([apply for each, apply in possible if each == kind])()
    before, after = compile_function(node, version), compile_function(edited, version)
    if before is None or after is None or same_code(before, after):
        return None
    verdicts = verify(before, after)
    rejected = not all(verdict.proven for verdict in verdicts)
    texts = [ast.unparse(tree).splitlines() for tree in (node, edited)]
    diff = "\n".join(difflib.unified_diff(*texts, name, kind, lineterm="", n=2))
    return kind, diff, rejected


def run(count: int, seed: int, only: str | None = None, version: str = HOST) -> tuple[Counter[str], list[str]]:
    """How many edits of each kind were tried, and the diffs of those that were accepted."""
    pick = random.Random(seed)
    pool = [(name, node) for name, node in functions() if only is None or only in name]
    major, minor = map(int, version.split("."))
    tried: Counter[str] = Counter()
    accepted: list[str] = []
    for _ in range(count * 20):
        if sum(tried.values()) >= count:
            break
        outcome = one_edit(*pick.choice(pool), pick, (major, minor))
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
    parser.add_argument("--version", default=HOST, help="the interpreter that compiles: 3.8 to 3.15")
    options = parser.parse_args()
    sys.setrecursionlimit(20000)
    tried, accepted = run(options.count, options.seed, options.only, options.version)
    for diff in accepted:
        print(diff + "\n")
    for kind, number in sorted(tried.items()):
        print(f"{number:6}  {kind}")
    total = sum(tried.values())
    print(f"Python {options.version}: {total - len(accepted)} of {total} edits rejected, {len(tried)} kinds")
    return 1 if accepted else 0


if __name__ == "__main__":
    sys.exit(main())
