"""A code unit with another name, with other code in it, and its lowered form then; slots are renamed by
``slots.renamed``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Instr


def with_consts(unit: CodeUnit, consts: tuple[object, ...]) -> CodeUnit:
    """``unit`` with these constants, code among them; the live code object has them, too."""
    live = unit.live
    if live is not None:
        live = live.replace(co_consts=tuple([_live(c, old) for c, old in zip(consts, live.co_consts)]))
    return replace(unit, consts=consts, live=live)


def _live(const: object, old: object) -> object:
    return const.live if type(const) is CodeUnit and const.live is not None else old


def called(unit: CodeUnit, name: str, qualname: str) -> CodeUnit:
    """``unit`` under this name."""
    live = unit.live
    if live is not None:
        names = {"co_name": name, "co_qualname": qualname} if unit.has_qualname else {"co_name": name}
        live = live.replace(**names)  # type: ignore[arg-type]
    return replace(unit, name=name, qualname=qualname, live=live)


def relowered(lowered: Lowered, unit: CodeUnit, argument: Callable[[Instr], object]) -> Lowered:
    """The lowered form of ``unit``, which differs from the code of ``lowered`` in names and nested code only.

    ``argument`` gives the argument that an instruction of ``lowered`` has there.
    """
    instrs = []
    for instr in lowered.instrs:
        arg = argument(instr)
        same = arg is instr.arg
        instrs.append(instr if same else Instr(instr.op, arg, instr.target, instr.line, instr.offset, instr.handler))
    return lowered._replace(unit=unit, instrs=tuple(instrs))
