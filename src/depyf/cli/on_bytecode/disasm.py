"""``depyf disasm``: our normalised instructions beside the source they came from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from depyf.cli.on_bytecode.targets import add_version_option, find_unit
from depyf.cli.output import tell
from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.emit.expressions.literals import literal
from depyf.safety.escape import printable
from depyf.safety.source_lines import source_line

EPILOG = """\
examples:
  depyf disasm x.pyc
  depyf disasm json:JSONDecoder.decode

exit status: 0; 2 the command line is wrong; 3 the bytecode is damaged; 4 not readable; 130 interrupted
"""


def add_disasm(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``disasm``."""
    parser.epilog = EPILOG
    parser.add_argument("target", metavar="TARGET", help="FILE, FILE:QUALNAME or module:qualname")
    add_version_option(parser)


def run_disasm(options: argparse.Namespace) -> int:
    """``depyf disasm``; InputError for what cannot be read."""
    tell(*listing(find_unit(options.target, options.version)).removesuffix("\n").split("\n"))
    return 0


def listing(unit: CodeUnit) -> str:
    """The unit and all code nested in it."""
    return "\n".join("\n".join(map(printable, listing_of_one(each))) + "\n" for each in units(unit))


def listing_of_one(unit: CodeUnit) -> Iterator[str]:
    lowered = lower(unit)
    major, minor = unit.version
    yield f"{unit.qualname}({', '.join(unit.params)})  [{unit.filename}:{unit.firstlineno}, Python {major}.{minor}]"
    targets = {instr.target for instr in lowered.instrs if instr.target >= 0}
    targets |= {handler.target for handler in lowered.handlers}
    shown_line: int | None = None
    for index, instr in enumerate(lowered.instrs):
        if instr.line is not None and instr.line != shown_line:
            shown_line = instr.line
            source = source_line(unit.filename, instr.line)
            yield f"{instr.line:5}  {source}" if source else f"{instr.line:5}"
        mark = ">>" if index in targets else "  "
        yield f"       {mark} {index:4}  {describe(instr, lowered.handlers)}".rstrip()
    for number, handler in enumerate(lowered.handlers):
        yield f"       handler {number}: to {handler.target}, depth {handler.depth}, pushes {', '.join(handler.pushes)}"


def describe(instr: Instr, handlers: tuple[object, ...]) -> str:
    parts = [f"{instr.op:<22}"]
    if instr.arg is not None or instr.op == ops.LOAD_CONST:
        parts.append(f"<code {instr.arg.qualname}>" if isinstance(instr.arg, CodeUnit) else shorten(shown(instr.arg)))
    if instr.target >= 0:
        parts.append(f"to {instr.target}")
    if 0 <= instr.handler < len(handlers):
        parts.append(f"  !{instr.handler}")
    return " ".join(parts)


def shown(value: object) -> str:
    """A constant as text; of numbers that Python refuses to write in decimal, the literal."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return literal(value) or f"<{type(value).__name__}>"


def shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
