"""Mutants of decompiled texts through the verifier; what it accepts is run beside the original.

    python -m tools.proof.attack.texts --version 3.13 --count 10000 [--seed 0] [--only json]

Functions are taken from the standard library and from the subjects of the negative tests.  Each is compiled by the
interpreter of the version and decompiled; the syntax tree of the text gets one or two edits of ``mutations.py``.  A mutant
that the verifier proves equivalent must do exactly what the original does: every operation, in order, with the same
operands, and every object must end at the same moment.  Where it does not, and the verdict names no assumption, the
verifier is wrong.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import random
import sys
import warnings

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.verify import verify
from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile
from depyf.errors import DepyfError
from tools import ROOT
from tools.proof.attack.execution import Crashed, Executor
from tools.proof.attack.findings import Findings, explained, first_difference, only_reordered, report
from tools.proof.attack.mutations import mutated
from tools.proof.mutate import functions, same_code

VERSIONS = ("3.9", "3.11", "3.12", "3.13", "3.14")
SEEDS = 8
"""Runs of each accepted mutant."""
FROM_ONE = 12
"""Mutants of one function."""
Named = tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]


def subjects(only: str | None) -> list[Named]:
    """The functions that are attacked, without decorators, defaults and annotations, which no call of ours would run.

    Not those that define a ``__del__``: its operations would stand for the end of an object, which is an event already.
    """
    negative = ast.parse((ROOT / "tests/negative/subjects.py").read_text(encoding="utf-8"))
    pool = [("subjects.py:" + getattr(node, "name", ""), node) for node in negative.body] + functions()
    found: list[Named] = []
    for name, node in pool:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (only and only not in name):
            continue
        if any(getattr(inner, "name", "") == "__del__" for inner in ast.walk(node)):
            continue
        plain = copy.deepcopy(node)
        plain.decorator_list, plain.returns = [], None
        plain.args.defaults, plain.args.kw_defaults = [], [None] * len(plain.args.kwonlyargs)
        for argument in ast.walk(plain.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        if sum(1 for _ in ast.walk(plain)) < 400:
            found.append((name, plain))
    return found


def compiled(text: str, name: str, version: tuple[int, int]) -> CodeUnit | None:
    """The code of the function in a text; None where it does not compile."""
    try:
        return recompile(text, version, (name,)).unit
    except (RecompileError, ValueError, RecursionError):
        return None


def parsed(text: str) -> ast.Module | None:
    """The tree of a text that the running interpreter can read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
    return tree if isinstance(tree.body[-1], (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def attack(version: str, count: int, seed: int, pool: list[Named]) -> Findings:
    """Mutants of functions of the ``pool`` until ``count`` of them are not what they were made from."""
    major, minor = map(int, version.split("."))
    pick = random.Random(f"{seed} {version}")
    found = Findings(version)
    executor = Executor(version)
    try:
        while found.mutants < count:
            name, node = pick.choice(pool)
            text = ast.unparse(ast.fix_missing_locations(ast.Module([node], [])))
            original = compiled(text, node.name, (major, minor))
            if original is None:
                continue
            try:
                decompiled = decompile_unit(original).source
            except DepyfError:
                continue
            tree = parsed(decompiled)
            if tree is None:
                continue
            for _ in range(min(FROM_ONE, count - found.mutants)):
                _one(found, executor, name, original, text, tree, pick)
    finally:
        executor.close()
    return found


def _one(
    found: Findings, executor: Executor, name: str, original: CodeUnit, text: str, tree: ast.Module, pick: random.Random
) -> None:
    kind, edited = mutated(tree, pick)
    seed = pick.randrange(1 << 20)
    try:
        changed = ast.unparse(ast.fix_missing_locations(edited))
    except (ValueError, AttributeError, TypeError, RecursionError):  # two edits may put a statement into itself
        return
    mutant = compiled(changed, original.name, original.version)
    if mutant is None or same_code(original, mutant):
        return
    found.mutants += 1
    verdicts = verify(original, mutant)
    if not all(verdict.proven for verdict in verdicts):
        found.rejected += 1
        return
    found.accepted += 1
    reasons = sorted({verdict.reason for verdict in verdicts if verdict.reason})
    try:
        different = executor.differences({"text": text}, {"text": changed}, range(seed, seed + SEEDS))
    except Crashed as crash:
        found.unexplained.append(f"{name} {kind}: {crash}\n{changed}")
        return
    found.runs += SEEDS
    if not different:
        return
    if explained(reasons, different):
        found.assumed["; ".join(reasons)] += 1
        return
    before = ast.unparse(tree).splitlines()
    diff = "\n".join(difflib.unified_diff(before, changed.splitlines(), name, kind, lineterm="", n=3))
    where = first_difference(*different[0][1:])
    group = found.reordered if all(only_reordered(*runs[1:]) for runs in different) else found.unexplained
    group.append(f"{diff}\nverdicts {[v.status.value for v in verdicts]}; seed {different[0][0]}:\n{where}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="append", help=f"3.8 to 3.15; default {' '.join(VERSIONS)}")
    parser.add_argument("--count", type=int, default=10_000, help="mutants of each version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="functions whose place contains this")
    parser.add_argument(
        "--no-orders", action="store_true", help="count objects that end in another order, but do not show them"
    )
    options = parser.parse_args()
    pool = subjects(options.only)
    found = [attack(v, options.count, options.seed, pool) for v in options.version or VERSIONS]
    return report(found, not options.no_orders)


if __name__ == "__main__":
    sys.exit(main())
