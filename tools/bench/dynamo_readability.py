"""How readable the text that runs in Dynamo's place is, over every frame of the tiny models and the torch test programs.

    python -m tools.bench.dynamo_readability [NAME ...] [--show] [--published DIR]

One row per frame: lines, temporaries (``value_N``), ``named`` (other variables that the bytecode does not have: a temporary
with the name of what it becomes), ``del`` statements of them, container shuffles (a list or tuple
display that is indexed, unpacked or starred on the spot), expression statements without an effect, how many attempts the proof
asked for, and its verdict.  ``--show`` prints the text of every frame that has a leftover.  ``--published`` takes the folder of an
installed published depyf (``pip install --target DIR depyf astor``) and adds the lines and temporaries of its text.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dis
import io
import re
import sys
import time
import types
import warnings
from dataclasses import dataclass
from typing import Any

from tools import ROOT

sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("torch", "support")]

INVENTED = re.compile(r"^value_\d+$")
PUBLISHED = re.compile(r"\b__temp_\d+\b")


@dataclass(frozen=True, slots=True)
class Leftovers:
    lines: int
    temporaries: int
    deletions: int
    shuffles: int
    idle: int

    @property
    def any(self) -> bool:
        return bool(self.temporaries or self.shuffles or self.idle)


def leftovers(text: str) -> Leftovers:
    """Count what a person would not have written."""
    tree = ast.parse(text)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and INVENTED.match(n.id)}
    deletions = sum(
        isinstance(target, ast.Name) and bool(INVENTED.match(target.id))
        for node in ast.walk(tree) if isinstance(node, ast.Delete) for target in node.targets
    )  # fmt: skip
    shuffles = 0
    idle = 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.Subscript, ast.Starred)) and isinstance(node.value, (ast.List, ast.Tuple)):
            shuffles += isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple)):
            shuffles += isinstance(node.targets[0], ast.Tuple) and _of_nothing(node.targets[0])
        elif isinstance(node, ast.Expr) and not any(
            isinstance(part, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Attribute, ast.Subscript, ast.BinOp,
                              ast.Compare, ast.NamedExpr))
            for part in ast.walk(node.value)
        ):  # fmt: skip
            # a resume function that is written out (before torch 2.8) drops what the user's statement gave
            given = isinstance(node.value, ast.Name) and node.value.id.startswith("___stack")
            idle += not given and (not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str))
    return Leftovers(len(text.splitlines()), len(names), deletions, shuffles, idle)


def _of_nothing(target: ast.Tuple) -> bool:
    """``(a,) = (x,)``, and ``a, a = x, y``, which only drops ``x``."""
    names = [part.id for part in target.elts if isinstance(part, ast.Name)]
    return len(target.elts) < 2 or len(set(names)) < len(names)


def frames(wanted: list[str]) -> dict[str, list[tuple[types.CodeType, types.CodeType, Any]]]:
    """Program -> the (given, made) code objects of its frames and how to decompile them; eager backend."""
    import torch
    from torch._dynamo.convert_frame import register_bytecode_hook
    from torch_models import MODELS, run_model
    from torch_programs import PROGRAMS

    from depyf.sources.live.generated import generated_options

    found: dict[str, list[tuple[types.CodeType, types.CodeType, Any]]] = {}
    for name in wanted or [*MODELS, *PROGRAMS]:
        torch._dynamo.reset()
        mine = found.setdefault(name, [])
        handle = register_bytecode_hook(
            lambda code, made, mine=mine: mine.append((code, made, generated_options(code, made)))
        )
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if name in MODELS:
                    run_model(name, lambda model: torch.compile(model, backend="eager"), True)
                else:
                    PROGRAMS[name](lambda fn: torch.compile(fn, backend="eager"))
        finally:
            handle.remove()
    return found


def named(text: str, made: types.CodeType) -> int:
    """Local variables of the outermost function that the bytecode does not mention, ``value_N`` apart."""
    function = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name[:7] != "__make_")
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known = {i.argval for i in dis.get_instructions(made) if isinstance(i.argval, str)}
    return sum(1 for name in stored - known if not INVENTED.match(name))


class Published:
    """Another depyf than the one under test, imported from a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.modules: dict[str, Any] = {}

    def lines_and_temporaries(self, code: types.CodeType) -> tuple[int, int] | None:
        """Of its text for ``code``; None where it raises or gives what is no Python."""
        mine = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "depyf"}
        sys.modules.update(self.modules)
        sys.path.insert(0, self.folder)
        try:
            import depyf

            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                text = depyf.decompile(code)
            ast.parse(text)
        except Exception:
            return None
        finally:
            sys.path.remove(self.folder)
            self.modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "depyf"}
            sys.modules.update(mine)
        return len(text.splitlines()), len(set(PUBLISHED.findall(text)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--published", metavar="DIR")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    from depyf.decompiler.driver.pipeline import _Attempts, decompile_code

    attempts: list[str] = []
    before = _Attempts._escalate

    def bump(self: Any, qualname: str, reason: str) -> bool:
        attempts.append(f"{qualname}: {reason}")
        return before(self, qualname, reason)

    _Attempts._escalate = bump  # type: ignore[method-assign]
    published = Published(arguments.published) if arguments.published else None
    total = {
        "frames": 0,
        "lines": 0,
        "temporaries": 0,
        "named": 0,
        "deletions": 0,
        "shuffles": 0,
        "idle": 0,
        "seconds": 0.0,
    }
    if published:
        total |= {"published frames": 0, "published lines": 0, "published temporaries": 0, "lines of those frames": 0}
    print(f"{'frame':58}{'lines':>7}{'temps':>7}{'named':>7}{'dels':>6}{'shuf':>6}{'idle':>6}{'tries':>7}{'ms':>7}  verdict"
          + ("  published lines, temps" if published else ""))  # fmt: skip
    for program, pairs in frames(arguments.names).items():
        for code, made, options in pairs:
            attempts.clear()
            start = time.process_time()
            made_text = decompile_code(made, name=re.sub(r"\W", "_", code.co_name), options=options)
            took = time.process_time() - start
            left = leftovers(made_text.source)
            worst = "proven" if made_text.proven else "UNPROVEN"
            others = named(made_text.source, made)
            beside = ""
            if published:
                theirs = published.lines_and_temporaries(made)
                beside = f"{theirs[0]:9}{theirs[1]:5}" if theirs else "    fails"
                if theirs:
                    total["published frames"] += 1
                    total["published lines"] += theirs[0]
                    total["published temporaries"] += theirs[1]
                    total["lines of those frames"] += left.lines
            print(f"{program + ': ' + code.co_name:58.57}{left.lines:7}{left.temporaries:7}{others:7}{left.deletions:6}"
                  f"{left.shuffles:6}{left.idle:6}{len(attempts) + 1:7}{took * 1000:7.0f}  {worst}{beside}")  # fmt: skip
            total["named"] += others
            for reason in attempts:
                print("      tried:", reason[:200])
            if arguments.show and (left.any or attempts):
                print(made_text.source)
            for field in ("lines", "temporaries", "deletions", "shuffles", "idle"):
                total[field] += getattr(left, field)
            total["frames"] += 1
            total["seconds"] += took
    print(", ".join(f"{name} {value:.2f}" if name == "seconds" else f"{name} {value}" for name, value in total.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
