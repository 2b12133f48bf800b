"""The state of a decompilation, which the passes change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.graph import Graph
from depyf.decompiler.cfg.program import Program
from depyf.decompiler.cfg.region_table import Regions
from depyf.decompiler.generated.contract import NO_CONTRACT, GeneratorContract
from depyf.decompiler.ir.expr import Expr, TempKey
from depyf.decompiler.ir.stmt import Body, Stmt
from depyf.decompiler.lift.lifted_block import Lifted

Nested = Callable[[CodeUnit, bool], Body]
"""Decompiles nested code; true where the source has an expression, not a function: there are no statements then."""


@dataclass(slots=True)
class State:
    """One decompilation of one code object; each pass fills the fields that it produces."""

    unit: CodeUnit
    nested: Nested
    promises: GeneratorContract = NO_CONTRACT
    lower: Callable[[CodeUnit], Lowered] = lower
    lowered: Lowered = field(init=False)
    operations: frozenset[str] = frozenset()
    """Those that occur in the bytecode."""
    program: Program = field(init=False)
    regions: Regions = field(init=False)
    matches: int = 0
    """How many ``match`` statements there are."""
    containers: Containers = field(init=False)
    graph: Graph = field(init=False)
    blocks: dict[int, Lifted] = field(init=False)
    entry: int = 0
    resets: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    """Variables that the handler of each ``try`` must unbind, by its container."""
    temporaries: bool = False
    """Whether lifted blocks, or dispatch, have temporaries."""
    flags: bool = False
    """Whether exits became flags or temporaries."""
    labelled: list[Stmt] = field(default_factory=list)
    costs_something: bool = False
    """Whether an exit became a flag, a copy or a temporary."""
    body: Body = ()
    prepared: bool = False
    """Whether the compiler prepared for annotations in this module or class body."""
    held: frozenset[TempKey] = frozenset()
    """Temporaries that nothing reads, kept until the branch after them has been taken."""
    deleted: frozenset[TempKey] = frozenset()
    """Temporaries that have a deletion already."""
    steps: int = 0
    """What the passes took of the budget, where they run over many states."""
    failed: bool = False
    """Whether a pass failed, where they run over many states: no other pass runs on this one."""

    @property
    def resumed(self) -> bool:
        """Whether the code is a resume function: the rest of a function that the generator split."""
        return self.unit.name.startswith(self.promises.resumed)

    @property
    def is_class(self) -> bool:
        """Whether the code is a class body, or what is run like one."""
        return not self.is_function and self.unit.name != "<module>"

    @property
    def is_function(self) -> bool:
        """Whether the code has fast locals, unlike that of a module or class."""
        return bool(self.unit.flags & CO_OPTIMIZED)
