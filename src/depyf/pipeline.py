"""The passes, and what runs them: code unit in, proven source out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from depyf.bytecode.codeunit import CodeUnit
from depyf.bytecode.lower import lower
from depyf.errors import DecompilationError, DepyfError
from depyf.flow.graph import Graph
from depyf.flow.program import Program
from depyf.idioms.bodies import finish_body
from depyf.idioms.temporaries import number_temporaries
from depyf.lift.lifter import Lifter
from depyf.lift.values import SPILL_BASE
from depyf.structure.containers import Containers
from depyf.structure.labels import Lowering
from depyf.structure.regions import find_regions
from depyf.structure.total import Structurer
from depyf.tree.nodes import Body


@dataclass(frozen=True, slots=True)
class Choices:
    """Local choices of the decompiler that the proof decides between; the defaults are what compilers write.

    ``idioms`` off is the safe fallback: no copies are undone, nothing is folded, everything shared is spilled.
    """

    idioms: bool = True
    wide_folds: bool = True


def body_of(unit: CodeUnit, choices: Choices = Choices()) -> Body:
    """Decompile one code unit, the code nested in it included, to statements of the Python dialect."""

    def nested(inner: CodeUnit) -> Body:
        return body_of(inner, choices)

    program = Program(lower(unit))
    regions = find_regions(program, idioms=choices.idioms)
    containers = Containers(program, regions)
    graph = Graph(program, containers, merge=choices.idioms)
    lifter = Lifter(graph, nested, fold=choices.idioms, spill_all=not choices.idioms, wide_folds=choices.wide_folds)
    blocks = lifter.run()
    entry = lifter.merged.get(graph.entry, graph.entry)
    structurer = Structurer(blocks, containers, entry, unit.qualname)
    labelled = structurer.run()
    lowering = Lowering()
    body = lowering.run(labelled)
    body = finish_body(unit, body)
    if lifter.symbolic.spills > SPILL_BASE or lifter.named_slots or structurer.dispatches or lowering.flags:
        body = number_temporaries(body)
    return body
