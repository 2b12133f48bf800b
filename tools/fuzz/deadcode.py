"""Unreachable code put into real files, which are then compiled, decompiled and proven (``make deadcode``).

    python -m tools.fuzz.deadcode                             500 files of the standard library on each interpreter found
    python -m tools.fuzz.deadcode --version 3.14 --count 50   fewer; --seed, --optimize 2, --only json, --path FOLDER
    python -m tools.fuzz.deadcode --version 3.14 --show json/decoder.py     one file: what was put in, and what failed
    python -m tools.fuzz.deadcode --version 3.14 --shrink json/decoder.py   the same, made small while a part of it fails

The compiler drops unreachable code, but not what it left in the tables of scopes and attributes.  Put in, about one in
ten statements and one in six conditions: ``return``, ``raise``, ``break`` and ``continue`` in front of statements, statements
in ``if False:``, ``if not __debug__:``, ``while 0:``, after ``if True:``, in the handler of an empty ``try``; constants in
``and``, ``or``, ``not``, in conditional expressions and in the filters of comprehensions.  All follows from the seed and
the name of the file.  A version parses and unparses its own files; 3.8 and 3.9, which depyf does not run on, only compile.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.errors import DepyfError
from tools.cases import minimise
from tools.corpus.corpus import sources
from tools.corpus.triage import normal_form
from tools.env import interpreters
from tools.fuzz.sourcefuzz import HOST, compiled

STATUSES = ("IDENTICAL", "EQUIVALENT", "UNVERIFIED", "FAILED")
MAX_SIZE = 60_000
"""Characters of a file that is not left out."""
SECONDS = 60
"""For making a file small."""

FALSE = ("False", "0", "None", "''", "()", "not 1", "not __debug__", "0 and 1", "False and x_")
TRUE = ("True", "1", "'yes'", "not 0", "__debug__", "...", "1 or x_")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


class Injector(ast.NodeTransformer):
    """Puts unreachable code into one syntax tree (and changes it); ``count`` says how often."""

    def __init__(
        self, pick: random.Random, version: tuple[int, int], statements: float = 0.1, tests: float = 0.17
    ) -> None:
        self.pick = pick
        self.star_handlers = version >= (3, 11)
        self.statements = statements
        self.tests = tests
        self.function = False
        self.loop = False
        self.star = False
        self.count = 0

    def false(self) -> ast.expr:
        return _expression(self.pick.choice(FALSE[:7] if self.pick.random() < 0.8 else FALSE))

    def true(self) -> ast.expr:
        return _expression(self.pick.choice(TRUE[:6] if self.pick.random() < 0.8 else TRUE))

    # Statements.

    def visit(self, node: ast.AST) -> ast.AST:
        kept = self.function, self.loop, self.star
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function, self.loop, self.star = True, False, False
        elif isinstance(node, (ast.ClassDef, ast.Lambda)):
            self.function, self.loop, self.star = False, False, False
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self.loop = True
        elif type(node).__name__ == "TryStar":
            self.star = True
        elif isinstance(node, (ast.JoinedStr, ast.match_case)) or type(node).__name__ == "TemplateStr":
            return node  # what is in there is not spelled like other expressions
        result: ast.AST = super().visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(result, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                loop, self.loop = (
                    self.loop,
                    self.loop
                    and not (
                        field == "orelse" and isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and not kept[1]
                    ),
                )
                setattr(result, field, self.block(block, field, isinstance(node, ast.Module)))
                self.loop = loop
        self.function, self.loop, self.star = kept
        return result

    def block(self, body: list[ast.stmt], field: str, is_module: bool) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for index, stmt in enumerate(body):
            if self._is_fixed(stmt, index, field) or self.pick.random() >= self.statements:
                out.append(stmt)
                continue
            self.count += 1
            out += self.changed(stmt, is_module)
        return out

    @staticmethod
    def _is_fixed(stmt: ast.stmt, index: int, field: str) -> bool:
        """Whether it has to stay where it is: a docstring, an import from ``__future__``, a declaration."""
        if isinstance(stmt, (ast.Global, ast.Nonlocal)):
            return True
        if isinstance(stmt, ast.ImportFrom):
            return stmt.module == "__future__" or stmt.names[0].name == "*"
        return index == 0 and field == "body" and isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)

    def changed(self, stmt: ast.stmt, is_module: bool) -> list[ast.stmt]:
        """``stmt`` where nothing reaches it, or with something else there that nothing reaches."""
        ways: list[Callable[[ast.stmt], list[ast.stmt]]] = [
            self._wrapped,
            self._wrapped,
            self._alternative,
            self._handler,
        ]
        if self.function and not self.star:
            ways += [self._returned] * 3
        elif self.function or not is_module:
            ways += [self._raised]
        if self.loop and not self.star:
            ways += [self._left] * 2
        return self.pick.choice(ways)(stmt)

    def _wrapped(self, stmt: ast.stmt) -> list[ast.stmt]:
        word = "while" if self.pick.random() < 0.25 else "if"
        if word == "while" and any(isinstance(node, (ast.Break, ast.Continue)) for node in ast.walk(stmt)):
            word = "if"
        outer = _statement(f"{word} 0: pass")
        assert isinstance(outer, (ast.If, ast.While))
        outer.test, outer.body = self.false(), [stmt]
        if self.pick.random() < 0.3:
            outer.orelse = [ast.Pass()]
        return [outer]

    def _alternative(self, stmt: ast.stmt) -> list[ast.stmt]:
        """``if True: <nothing> else: stmt``, or the other way round."""
        outer = ast.If(self.true(), [ast.Pass()], [stmt])
        if self.pick.random() < 0.5:
            outer = ast.If(self.true(), [stmt], [_statement("unreached_ = 1")])
        return [outer]

    def _handler(self, stmt: ast.stmt) -> list[ast.stmt]:
        """``stmt`` in the handler of a ``try`` that cannot raise."""
        tried = _statement(
            self.pick.choice(
                (
                    "try:\n    pass\nexcept Exception: pass",
                    "try:\n    pass\nexcept: pass",
                    "try:\n    pass\nexcept OSError as error_: pass\nelse: pass",
                    "try:\n    if 0: f_()\nexcept KeyError: pass\nfinally: pass",
                )
            )
        )
        assert isinstance(tried, ast.Try)
        tried.handlers[0].body = [stmt]
        return [tried]

    def _returned(self, stmt: ast.stmt) -> list[ast.stmt]:
        text = self.pick.choice(("return", "raise NotImplementedError", "raise NotImplementedError('later')"))
        ways = (
            text,
            text,
            f"if 1: {text}",
            f"while True: {text}",
            f"try:\n    {text}\nfinally: pass",
        )
        return [_statement(self.pick.choice(ways)), stmt]

    def _raised(self, stmt: ast.stmt) -> list[ast.stmt]:
        return [ast.If(self.false(), [_statement("raise NotImplementedError"), stmt], [])]

    def _left(self, stmt: ast.stmt) -> list[ast.stmt]:
        return [_statement(self.pick.choice(("break", "continue", "if 1: break", "if not 0: continue"))), stmt]

    # Conditions.

    def test(self, node: ast.expr) -> ast.expr:
        if self.pick.random() >= self.tests:
            return node
        self.count += 1
        kind = self.pick.randrange(8)
        if kind == 0:
            return ast.BoolOp(ast.And(), [self.false(), node])
        if kind == 1:
            return ast.BoolOp(ast.And(), [node, self.false()])
        if kind == 2:
            return ast.BoolOp(ast.Or(), [self.true(), node])
        if kind == 3:
            return ast.BoolOp(ast.Or(), [node, self.pick.choice((self.true, self.false))()])
        if kind == 4:
            return ast.IfExp(self.pick.choice((self.true, self.false))(), node, ast.Name("other_", ast.Load()))
        if kind == 5:
            return ast.IfExp(node, self.pick.choice((self.true, self.false))(), ast.Name("other_", ast.Load()))
        if kind == 6:
            return ast.IfExp(ast.Name("other_", ast.Load()), node, self.pick.choice((self.true, self.false))())
        return ast.UnaryOp(ast.Not(), ast.BoolOp(ast.And(), [node, self.pick.choice((self.true, self.false))()]))

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self.test(node.test)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and self.pick.random() < 0.3:
            node.value = self.test(node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs = [self.test(item) for item in node.ifs]
        if self.pick.random() < self.tests:
            self.count += 1
            node.ifs.insert(
                self.pick.randint(0, len(node.ifs)), self.pick.choice((self.true, self.false, self.false))()
            )
        return node


def injected(source: str, seed: str, version: tuple[int, int]) -> str:
    """``source`` with unreachable code in it; raises SyntaxError or RecursionError where it cannot be read."""
    tree = ast.parse(source)
    Injector(random.Random(seed), version).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


@dataclass(frozen=True)
class Outcome:
    """What became of one file; ``bad`` has (qualified name, reason) of everything without a proof."""

    statuses: Counter[str]
    bad: tuple[tuple[str, str], ...]
    text: str


def examine(text: str, version: tuple[int, int], optimize: int = 0) -> Outcome | None:
    """None where the version does not compile ``text``."""
    unit = compiled(text, version, optimize)
    if unit is None:
        return None
    try:
        result = decompile_unit(unit)
    except DepyfError as error:
        return Outcome(Counter({"FAILED": 1}), (("<module>", str(error)),), "")
    except Exception as error:
        return Outcome(Counter({"FAILED": 1}), (("<module>", f"internal: {type(error).__name__}: {error}"),), "")
    statuses = Counter(verdict.status.name for verdict in result.verdicts)
    bad = [(v.qualname, f"{v.status.name}: {v.reason}") for v in result.verdicts if not v.proven]
    return Outcome(statuses, tuple(item for item in bad if ": nested " not in item[1]), result.source)


def shrunk(text: str, version: tuple[int, int], optimize: int, wanted: str = "") -> str:
    """The smallest text found of which a part fails for a reason that the whole has (and that contains ``wanted``)."""
    outcome = examine(text, version, optimize)
    if outcome is None or not outcome.bad:
        return text
    reasons = {normal_form(reason) for _, reason in outcome.bad if wanted in reason}

    def holds(smaller: str) -> bool:
        found = examine(smaller, version, optimize)
        return found is not None and any(normal_form(reason) in reasons for _, reason in found.bad)

    return minimise.minimise(text, holds, SECONDS)


def chosen(root: Path, seed: int, count: int, only: str | None) -> list[str]:
    """Names of files, spread over the tree."""
    names = [name for name in sources(root) if only is None or only in name]
    names = [name for name in names if (root / name).is_file() and (root / name).stat().st_size <= MAX_SIZE]
    random.Random(seed).shuffle(names)
    return names[:count]


def text_of(root: Path, name: str, seed: int, version: tuple[int, int]) -> str | None:
    try:
        return injected((root / name).read_text(encoding="utf-8"), f"{seed} {name}", version)
    except (SyntaxError, ValueError, RecursionError):
        return None


def sweep(root: Path, version: tuple[int, int], options: argparse.Namespace) -> bool:
    """One row of the table, below what failed; true if something did."""
    started = time.monotonic()
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    example: dict[str, str] = {}
    files = 0
    for name in chosen(root, options.seed, options.count, options.only):
        text = text_of(root, name, options.seed, version)
        outcome = None if text is None else examine(text, version, options.optimize)
        if outcome is None:
            continue
        files += 1
        statuses.update(outcome.statuses)
        for qualname, reason in outcome.bad:
            reasons[normal_form(reason)] += 1
            example.setdefault(normal_form(reason), f"{name}:{qualname}")
    for reason, number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        print(f"{number:5}  {reason}\n       {example[reason]}")
    row = [f"{version[0]}.{version[1]}", str(files), str(sum(statuses.values()))]
    row += [str(statuses[status]) for status in STATUSES]
    heads = ["Python", "files", "codes", *STATUSES, "seconds"]
    for cells in (heads, [*row, f"{time.monotonic() - started:.0f}"]):
        print("  ".join(cell.rjust(len(head)) for head, cell in zip(heads, cells)))
    sys.stdout.flush()
    return bool(reasons)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", help="3.14; without it all that are found")
    parser.add_argument("--count", type=int, default=500, help="files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimize", type=int, default=0)
    parser.add_argument("--only", help="files whose name contains this")
    parser.add_argument("--path", type=Path, help="another folder than the standard library")
    parser.add_argument("--show", help="print one file instead")
    parser.add_argument("--shrink", help="print one file, made small while a part of it fails")
    parser.add_argument("--reason", default="", help="with --shrink: only reasons that contain this")
    options = parser.parse_args()
    if options.version is None:
        found = interpreters.found()
        print("missing: " + (", ".join(v for v in interpreters.VERSIONS if v not in found) or "none"), flush=True)
        codes = [
            subprocess.run([sys.executable, "-m", "tools.fuzz.deadcode", *sys.argv[1:], "--version", one]).returncode
            for one in found
        ]
        return max(codes, default=1)
    major, minor = options.version.split(".")
    version = int(major), int(minor)
    python = interpreters.find(options.version)
    if python is None:
        raise SystemExit(f"deadcode: no Python {options.version} on this machine")
    if version != HOST and version >= (3, 10):
        return subprocess.run(
            [python, "-m", "tools.fuzz.deadcode", *sys.argv[1:]], env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ).returncode
    warnings.simplefilter("ignore")
    root = options.path or interpreters.stdlib_of(python)
    name = options.show or options.shrink
    if name is None:
        return int(sweep(root, version, options))
    text = text_of(root, name, options.seed, version)
    if text is None:
        raise SystemExit(f"deadcode: {name} cannot be read by Python {HOST[0]}.{HOST[1]}")
    if options.shrink:
        text = shrunk(text, version, options.optimize, options.reason)
    outcome = examine(text, version, options.optimize)
    print(text)
    if outcome is None:
        print("# does not compile")
        return 1
    print(f"# ---- decompiled\n{outcome.text}")
    for qualname, reason in outcome.bad:
        print(f"# {qualname}: {reason}")
    return int(bool(outcome.bad))


if __name__ == "__main__":
    sys.exit(main())
