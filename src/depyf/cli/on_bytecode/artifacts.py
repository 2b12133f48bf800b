"""Readable text for the artifact of each pass (``depyf passes``).

Input: any artifact of ``trace_passes``.  Output: text without addresses, so that two runs can be diffed.  Statements
print as Python where they already are Python, else as nested constructor calls without line numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from depyf.cli.on_bytecode.disasm import describe, shorten, shown
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.ops import Handler
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.graph import Graph
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import Regions
from depyf.decompiler.driver.steps import Rewrite
from depyf.decompiler.emit import emit_function, emit_module
from depyf.decompiler.ir.expr import Const, Expr, Name, NestedTemp, Purpose, Temp, TempKey
from depyf.decompiler.ir.stmt import ExceptClause, Stmt
from depyf.decompiler.ir.walk_expr import walk_all
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.structure.label_kinds import is_block, kind_of, number_of
from depyf.errors import DepyfError

_AROUND = ("def ", "async def ", "from __future__ ", "global ", "nonlocal ", "if 0: ")
"""What the text of a statement by itself may begin with."""


def text_of(artifact: Any, unit: CodeUnit) -> str:
    return "\n".join(lines_of(artifact, unit))


def told(rewrite: Rewrite, unit: CodeUnit) -> str:
    """A rewrite of a pass, in one line."""
    if isinstance(rewrite.made, Stmt):
        lines = map(str.strip, text_of((rewrite.made,), unit).splitlines())
        first = next((line for line in lines if line and not line.startswith(_AROUND)), "")
        return f"{rewrite.name}: {shorten(first)}"
    return rewrite.name if rewrite.made is None else f"{rewrite.name}: instruction {rewrite.made}"


def lines_of(artifact: Any, unit: CodeUnit) -> Iterator[str]:
    if isinstance(artifact, Lowered):
        yield from lowered(artifact)
    elif isinstance(artifact, Program):
        yield from program(artifact)
    elif isinstance(artifact, Regions):
        yield from regions(artifact)
    elif isinstance(artifact, Containers):
        yield from containers(artifact)
    elif isinstance(artifact, Graph):
        yield from graph(artifact)
    elif isinstance(artifact, dict):
        for block in artifact.values():
            yield from lifted(block)
    elif isinstance(artifact, (tuple, list)):
        yield statements(tuple(artifact), unit)
    elif isinstance(artifact, frozenset):
        yield from held(artifact)
    else:
        yield brief(artifact)


def lowered(artifact: Lowered) -> Iterator[str]:
    for index, instr in enumerate(artifact.instrs):
        yield f"{index:4}  {describe(instr, artifact.handlers)}".rstrip()
    yield from handlers(artifact.handlers)


def program(artifact: Program) -> Iterator[str]:
    """The instructions with the edges that the passes have left; removed instructions have no incoming edge."""
    for index, instr in enumerate(artifact.instrs):
        instr = replace(instr, target=artifact.jump[index], handler=artifact.handler[index])
        follows = artifact.next[index]
        then = f"   then {follows}" if follows not in (index + 1, NONE) else ""
        yield f"{index:4}  {describe(instr, artifact.handlers)}{then}".rstrip()
    yield from handlers(artifact.handlers)


def handlers(found: tuple[Handler, ...]) -> Iterator[str]:
    for number, handler in enumerate(found):
        yield f"handler {number}: to {handler.target}, depth {handler.depth}, pushes {', '.join(handler.pushes)}"


def regions(artifact: Regions) -> Iterator[str]:
    """The exception regions.  *around*: the instructions that lie in no inner region."""
    if not artifact.table:
        yield "no handlers"
    for region in artifact.table.values():
        inside = f", in region {region.parent}" if region.parent >= 0 else ""
        resume = f", resumes at {region.resume}" if region.resume >= 0 else ""
        around = ranges([index for index, own in enumerate(artifact.program.handler) if own == region.index])
        yield (
            f"region {region.index}: {region.kind}, handler at {region.target}, "
            f"depth {region.depth}{inside}{resume}, around {around}"
        )


def containers(artifact: Containers) -> Iterator[str]:
    for container in artifact.tree:
        members = sorted(index for index, owner in artifact.of.items() if owner == container.id)
        region = f" of region {container.region}" if container.region >= 0 else ""
        parent = f", in {container.parent}" if container.parent >= 0 else ""
        yield f"container {container.id}: {container.kind}{region}{parent}, instructions {ranges(members)}"


def graph(artifact: Graph) -> Iterator[str]:
    for number in artifact.order():
        node = artifact.nodes[number]
        start = "  <- entry" if number == artifact.entry else ""
        yield f"block {number}: instructions {ranges(node.code)}, container {node.container}{start}"
        if node.succs:
            yield f"    to {', '.join(map(str, node.succs))}"


def lifted(block: Lifted) -> Iterator[str]:
    yield f"block {block.id}, container {block.container}"
    if block.entry:
        yield f"    takes {', '.join(map(brief, block.entry))}"
    yield from (f"    {brief(statement)}" for statement in block.stmts)
    if block.stack:
        yield f"    leaves {', '.join(map(brief, block.stack))}"
    if block.cond is not None:
        yield f"    if {brief(block.cond)} to {block.succs[0]} else to {block.succs[1]}"
    elif block.succs:
        yield f"    to {', '.join(map(str, block.succs))}"
    for side, line in block.breaks_at.items():
        yield f"    left for {block.succs[side]} on line {line}"
    if block.direct:
        yield "    no break leads here"


def held(artifact: frozenset[TempKey]) -> Iterator[str]:
    if not artifact:
        yield "nothing is held"
    for purpose, number in sorted(artifact):
        yield f"{brief(Temp(number, Purpose(purpose)))} is held until the branch after it"


def statements(body: tuple[Stmt, ...], unit: CodeUnit) -> str:
    """The statements as source text; those that the printer does not support as constructor calls.  The last line names
    the temporaries of nested functions, which passes over this function do not touch."""
    module = unit.name == "<module>"
    try:
        emitted = emit_module(unit, body) if module else emit_function(unit, body)
    except (DepyfError, KeyError):
        return "\n".join(outline(body, 0))
    nested = sorted({node.number for node in walk_all(body) if isinstance(node, NestedTemp)})
    return emitted.text.rstrip("\n") + (f"\nof nested functions: temporaries {ranges(nested)}" if nested else "")


def outline(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    """One statement a line, the bodies of compound ones indented."""
    for statement in body:
        parts: list[str] = []
        inner: list[tuple[str, tuple[Stmt, ...]]] = []
        for field in dataclasses.fields(statement):  # type: ignore[arg-type]
            value = getattr(statement, field.name)
            if field.name == "line" or value in (None, ()):
                continue
            if isinstance(value, tuple) and isinstance(value[0], Stmt):
                inner.append((field.name, value))
            elif field.name == "handlers":
                for clause in value:
                    inner.append((f"except {brief(clause.type) if clause.type else ''}".rstrip(), clause.body))
            else:
                parts.append(f"{field.name}={label(value) if field.name == 'label' else brief(value)}")
        yield f"{'    ' * depth}{type(statement).__name__}({', '.join(parts)})"
        for name, value in inner:
            if name != "body":
                yield f"{'    ' * depth}{name}:"
            yield from outline(value, depth + 1)


def label(value: int) -> str:
    """A label: the number of a basic block, or kind and number of any other label."""
    return str(value) if is_block(value) else f"{kind_of(value).name.lower()}_{number_of(value)}"


def brief(value: Any) -> str:
    """An expression, a statement or a tuple of them on one line, without line numbers and defaults."""
    if isinstance(value, Name):
        return value.id
    if isinstance(value, Temp):
        return f"{value.purpose.name.lower()}_{value.number}"
    if isinstance(value, Const):
        return f"<code {value.value.qualname}>" if isinstance(value.value, CodeUnit) else shown(value.value)
    if isinstance(value, CodeUnit):
        return f"<code {value.qualname}>"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(brief, value))})"
    if isinstance(value, (Expr, Stmt, ExceptClause)):
        parts = [
            brief(getattr(value, field.name))
            for field in dataclasses.fields(value)  # type: ignore[arg-type]
            if field.name != "line" and getattr(value, field.name) not in (None, ())
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, (str, int, float, bytes, complex, type(None), type(...))):
        return shown(value)
    # a live object's own text may hold an address
    return f"<{type(value).__name__}>"


def ranges(numbers: list[int]) -> str:
    """``0-3 7``: runs of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"
