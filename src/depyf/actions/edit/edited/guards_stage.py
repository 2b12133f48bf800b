"""Edited guards of a ``full_code_for_*`` page in the place of those of a cache entry.

Input: what torch is about to make an entry of.  Its root guard manager, which the entry's look-up asks, is exchanged
for one that asks the expression of the page.  Where all of torch's guards are still there, they are asked first, as a
whole, and then what was added.  Where some are not, each of the others is asked alone: the leaf guard of torch where it
can be, else as Python.  A guard that raises does not hold.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile
from depyf.actions.edit.edited_guards import GuardOperand, guard_operands, meaning_of
from depyf.actions.edit.uses import EditedCompilation, Uses
from depyf.run.guard_vocabulary import CHECKS
from depyf.safety.guarded import problem, say, warn
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.guards import check_functions as guard_checks
from depyf.sources.live.guards.guard_tree import Globals, Leaf, ask_leaves, live_guards

_Names = dict[str, Any]
_Check = Callable[[_Names], bool]


def exchange_guards(uses: Uses, compilation: EditedCompilation, guarded: Any, local: dict[str, Any]) -> None:
    """``guarded``: torch's ``GuardedCode``; ``local``: the variables of the call that it was compiled for.

    EditError where an edited guard cannot be evaluated.  Torch runs an entry for the call that compiles it and asks no
    guard then: EditError, too, where a guard that was edited does not hold for this call.
    """
    file = uses.guards_for(compilation)
    if file is None:
        return
    manager = guarded.guard_manager
    scope = getattr(manager, "global_scope", None)
    found = scope.get("G") if isinstance(scope, dict) else None
    entry = LiveEntry(str(guarded.compile_id), guarded.code, manager, found if isinstance(found, dict) else None)
    torchs = {meaning_of(guard.record.expression): guard for guard in live_guards(entry)}
    now = guard_operands(file)
    fits = bool(torchs) and all(operand.meaning in torchs or _is_changed(file, operand) for operand in now)
    uses.guards_fit(compilation, file, fits)
    if not fits:
        return
    told = {operand.meaning for operand in now}
    gone = [guard.record.expression for meaning, guard in torchs.items() if meaning not in told]
    names = _names(manager, entry)
    added = [operand for operand in now if operand.meaning not in torchs]
    root = manager.root
    for operand in added:
        _has_to_hold(file, operand, names, local)
    if gone:
        leaves = [torchs[operand.meaning].leaves if operand.meaning in torchs else () for operand in now]
        checks = [_asked(file, operand, own, names) for operand, own in zip(now, leaves)]
        _warn_of(file, compilation, gone)
    else:
        checks = [lambda known: bool(root.check(known["L"])), *(_asked(file, operand, (), names) for operand in added)]

    def tell(kept: Any = root) -> None:  # torch's leaf guards live as long as their root
        uses.called([file])

    manager.root = _root(file, _holds(file, checks, names, tell))


def _is_changed(file: EditedFile, operand: GuardOperand) -> bool:
    return any(operand.line <= line <= (operand.node.end_lineno or operand.line) for line in file.lines)


def _names(manager: Any, entry: LiveEntry) -> _Names:
    """What guards may name."""
    import torch

    helpers = getattr(manager, "closure_vars", None)
    known = dict(helpers) if isinstance(helpers, dict) else {}
    checks = {name: getattr(guard_checks, name) for name in CHECKS if hasattr(guard_checks, name)}
    return {**known, **checks, "torch": torch, "math": math, "G": Globals(entry.globals or {})}


def _asked(file: EditedFile, operand: GuardOperand, leaves: tuple[Leaf, ...], names: _Names) -> _Check:
    unknown = _unknown(operand.node, {*names, "L"})
    if unknown:
        raise EditError(file.path, operand.line, f"a guard can use L, G, torch, math and depyf's checks, not {unknown}")
    made = compile(ast.Expression(operand.node), str(file.path), "eval", dont_inherit=True)

    def check(known: _Names) -> bool:
        answer = ask_leaves(leaves, known) if leaves else None
        return bool(eval(made, known)) if answer is None else answer

    return check


def _has_to_hold(file: EditedFile, operand: GuardOperand, names: _Names, local: dict[str, Any]) -> None:
    check, why = _asked(file, operand, (), names), ""
    try:
        if check({**names, "L": dict(local)}):
            return
    except Exception as error:  # whatever the program's objects raise
        why = f" ({problem(error)})"
    raise EditError(
        file.path,
        operand.line,
        f"this guard does not hold for the call that compiles its entry{why}, and torch runs an entry for that call "
        "whatever its guards say",
    )


def _unknown(node: ast.expr, names: Iterable[str]) -> str:
    """The first name that is neither among ``names`` nor made in ``node``."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    bound = {part.id for part in found if not isinstance(part.ctx, ast.Load)}
    bound |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    bound |= {*names, *vars(builtins)}
    return next((part.id for part in found if part.id not in bound), "")


def _holds(file: EditedFile, checks: list[_Check], names: _Names, tell: Callable[[], None]) -> Callable[[Any], bool]:
    said: list[str] = []

    def holds(L: Any) -> bool:
        tell()
        known = {**names, "L": dict(L)}
        try:
            return all(check(known) for check in checks)
        except Exception as error:  # whatever the program's objects raise: torch has no place for it
            if not said:
                said.append(problem(error))
                say(f"{file.path}:{_line(error, file)}: a guard that raises does not hold: {said[0]}")
            return False

    return holds


def _line(error: BaseException, file: EditedFile) -> int:
    line, entry = file.lines[0] if file.lines else 1, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == str(file.path):
            line = entry.tb_lineno
        entry = entry.tb_next
    return line


def _root(file: EditedFile, holds: Callable[[Any], bool]) -> Any:
    guards: Any = _module_of_guards()
    if guards is None:
        raise EditError(file.path, file.lines[0], "this torch has no guards that can be exchanged")
    root = guards.RootGuardManager()
    text = [f"the edited guards of {file.path}"]
    try:
        root.add_lambda_guard(holds, text, None)
    except TypeError:  # torch before 2.12 takes no stack
        root.add_lambda_guard(holds, text)
    return root


def _module_of_guards() -> types.ModuleType | None:
    try:
        from torch._C._dynamo import guards
    except ImportError:
        return None
    return guards if hasattr(guards, "RootGuardManager") else None


def _warn_of(file: EditedFile, compilation: EditedCompilation, gone: list[str]) -> None:
    first = gone[0] if len(gone[0]) < 200 else f"{gone[0][:197]}..."
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    line = file.lines[0] if file.lines else 1
    warn(
        f"depyf: {file.path}:{line}: the edited guards of {compilation.function} ({file.keys[0].label}) are looser "
        f"than torch's: without {first}{more}, code that was compiled for some inputs may run for others, "
        "and give wrong results or end the process"
    )
