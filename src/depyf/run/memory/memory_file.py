"""``memory.json``: what is said of the memory of each graph, as it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.run.records import CompileKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """A tensor that a backward gets from its forward."""

    name: str
    type: str
    bytes: int | None
    """None where it is not known."""
    kind: str
    of: str = ""
    role: str = ""
    operator: str = ""
    module: str = ""
    formula: str = ""
    at: str = ""
    line: str = ""
    returned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAgain:
    """What a backward computes again, of one line of the program."""

    at: str = ""
    line: str = ""
    operators: tuple[str, ...]
    count: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKept:
    """The tensors that a forward graph keeps for its backward."""

    bytes: int
    given_bytes: int
    unknown: int
    tensors: tuple[StoredTensor, ...]
    computed_again: tuple[StoredAgain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """The buffers that Inductor's generated code allocates."""

    peak: int
    total: int
    buffers: int
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """The memory of one graph, as stored."""

    compile_id: str
    generation: int
    function: str = ""
    at: str = field(metadata={"as": "from"}, default="")
    sizes: dict[str, str]
    kept: StoredKept | None
    forward: StoredPlan | None
    backward: StoredPlan | None

    @property
    def key(self) -> CompileKey:
        return CompileKey(self.generation, self.compile_id)


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """The content of ``memory.json``."""

    graphs: tuple[StoredMemory, ...]
