"""How readable the text that runs in Dynamo's place is, over every frame of the tiny models and the torch test programs.

    python tools/dynamo_readability.py [NAME ...] [--show] [--seconds]

One row per frame: lines, temporaries (names that depyf invented), ``del`` statements of them, container shuffles (a list or tuple
display that is indexed, unpacked or starred on the spot), expression statements without an effect, how many attempts the proof
asked for, and its verdict.  ``--show`` prints the text of every frame that has a leftover.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import sys
import time
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "torch")]

INVENTED = re.compile(r"^value_\d+$")


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
            shuffles += isinstance(node.targets[0], ast.Tuple) and len(node.targets[0].elts) < 2
        elif isinstance(node, ast.Expr) and not any(
            isinstance(part, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Attribute, ast.Subscript, ast.BinOp,
                              ast.Compare, ast.NamedExpr))
            for part in ast.walk(node.value)
        ):  # fmt: skip
            idle += not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str)
    return Leftovers(len(text.splitlines()), len(names), deletions, shuffles, idle)


def frames(wanted: list[str]) -> dict[str, list[tuple[types.CodeType, types.CodeType, Any]]]:
    """Program -> the (given, made) code objects of its frames and how to decompile them; eager backend."""
    import torch
    from torch._dynamo.convert_frame import register_bytecode_hook
    from torch_models import MODELS, run_model
    from torch_programs import PROGRAMS

    from depyf.dynamo.generated import generated_options

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    from depyf.pipeline import _Attempts, decompile_code

    attempts: list[str] = []
    before = _Attempts._bump

    def bump(self: Any, qualname: str, reason: str) -> bool:
        attempts.append(f"{qualname}: {reason}")
        return before(self, qualname, reason)

    _Attempts._bump = bump  # type: ignore[method-assign]
    total = {"frames": 0, "lines": 0, "temporaries": 0, "deletions": 0, "shuffles": 0, "idle": 0, "seconds": 0.0}
    print(f"{'frame':58}{'lines':>7}{'temps':>7}{'dels':>6}{'shuf':>6}{'idle':>6}{'tries':>7}{'ms':>7}  verdict")
    for program, pairs in frames(arguments.names).items():
        for code, made, options in pairs:
            attempts.clear()
            start = time.process_time()
            made_text = decompile_code(made, name=re.sub(r"\W", "_", code.co_name), options=options)
            took = time.process_time() - start
            left = leftovers(made_text.source)
            worst = "proven" if made_text.proven else "UNPROVEN"
            print(f"{program + ': ' + code.co_name:58.57}{left.lines:7}{left.temporaries:7}{left.deletions:6}{left.shuffles:6}"
                  f"{left.idle:6}{len(attempts) + 1:7}{took * 1000:7.0f}  {worst}")  # fmt: skip
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
