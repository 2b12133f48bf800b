"""Each rewrite of resume functions with a bug planted in it: the proof knows nothing of the rewrites, and accepts none of what they give."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.edits.splice import inserted, without
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.generated.resume import strip
from depyf.decompiler.options import Options
from depyf.errors import DecompilationError
from depyf.native import build
from resume_cases import CASES, function

Change = Callable[[Lowered], Lowered]


def at(code: Lowered, op: str, count: int = 0) -> int:
    return [place for place, instr in enumerate(code.instrs) if instr.op == op][count]


def doubled(code: Lowered) -> Lowered:
    """The container that is handed on is unpacked twice."""
    place = next(p for p, i in enumerate(code.instrs) if i.op in (ops.LIST_EXTEND, ops.SET_UPDATE, ops.DICT_UPDATE))
    load, fill = code.instrs[place - 1], code.instrs[place]
    return inserted(code, {place: ((), ((ops.LOAD_FAST, load.arg), (fill.op, fill.arg)))})


def emptied(code: Lowered) -> Lowered:
    """It is not unpacked at all."""
    place = next(p for p, i in enumerate(code.instrs) if i.op in (ops.LIST_EXTEND, ops.SET_UPDATE, ops.DICT_UPDATE))
    return without(code, {place - 1, place})


def replaced(op: str, arg: Any, new: Any) -> Change:
    def change(code: Lowered) -> Lowered:
        place = next(p for p, i in enumerate(code.instrs) if (i.op, i.arg) == (op, arg))
        instrs = list(code.instrs)
        instrs[place] = replace(instrs[place], arg=new)
        return code._replace(instrs=tuple(instrs))

    return change


def exchanged(code: Lowered) -> Lowered:
    """The first two variables that the list is unpacked to have each other's items."""
    first = at(code, ops.UNPACK_SEQUENCE) + 1
    instrs = list(code.instrs)
    one, other = instrs[first].arg, instrs[first + 1].arg
    instrs[first], instrs[first + 1] = replace(instrs[first], arg=other), replace(instrs[first + 1], arg=one)
    return code._replace(instrs=tuple(instrs))


def unread_pop(code: Lowered) -> Lowered:
    """One item more is taken off."""
    place = at(code, ops.LOAD_METHOD)
    name = code.instrs[place - 1].arg
    pop = ((ops.LOAD_FAST, name), (ops.LOAD_METHOD, "pop"), (ops.CALL, ops.CallShape(2, 0, ())), (ops.POP, None))
    return inserted(code, {place - 1: (pop, ())})


BUGS: dict[str, tuple[str, Change]] = {
    "twice in a list": ("a list", doubled),
    "missing in a list": ("a list", emptied),
    "twice in a set": ("a set", doubled),
    "missing in a dict": ("a dict", emptied),
    "a part with a conversion": ("a string", replaced(ops.FORMAT, ("", False), ("r", False))),
    "another old value": ("a new variable", replaced(ops.LOAD_FAST, "old", "value")),
    "another operator": ("a new variable", replaced(ops.BINARY, "+=", "-=")),
    "another operator for a parameter": ("the variable itself", replaced(ops.BINARY, "+=", "*=")),
    "items exchanged": ("the values of a frame", exchanged),
    **({"a pop too many": ("an inner frame", unread_pop)} if "an inner frame" in CASES else {}),
}


@pytest.mark.skipif(build() == "compiled", reason="compiled code calls what it imports directly")
@pytest.mark.parametrize("name", BUGS)
def test_a_wrong_rewrite_is_never_proven(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, change = BUGS[name]
    handed, promises, _, parameters, body, _, _ = CASES[case]
    code: types.CodeType = handed(function(parameters, *body))
    assert decompile_code(code, options=Options(promises=promises)).proven
    right = strip.strip_resume_prologue
    changed = []

    def wrong(lowered: Lowered, contract: Any) -> Lowered:
        changed.append(change(right(lowered, contract)))
        return changed[-1]

    monkeypatch.setattr("depyf.decompiler.driver.graph_passes.strip_resume_prologue", wrong)
    try:
        found = decompile_code(code, options=Options(promises=promises))
    except DecompilationError:
        found = None
    assert changed
    assert found is None or not found.proven, found
