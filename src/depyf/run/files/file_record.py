"""One file of a dump, as ``manifest.json`` lists it."""

from __future__ import annotations

from dataclasses import dataclass, field

from depyf.run.files.line_table import LineTable
from depyf.run.records import CompileKey


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The manifest's entry for one file.  Verdicts, and how a backend printed a graph, are in the run instead."""

    name: str = field(metadata={"as": "file"})
    kind: str
    stage: str = ""
    """"" for what is no graph."""
    index: int = 0
    """The first, second, ... graph of this stage."""
    compile_id: str | None = None
    """torch's compile id; None for what belongs to no compilation, "" for a graph that was compiled without one."""
    generation: int = 0
    compile_ids: tuple[str, ...] = ()
    """Of a full_code page: those on it."""
    origins: tuple[str, ...] = field(metadata={"as": "from"}, default=())
    """The files that it came from, or the place of the program's function."""
    function: str = ""
    same_code_as: str = ""
    level: str = ""
    """The level of ``depyf.debug()`` that wrote it."""
    steppable: bool = False
    sha256: str = ""
    line_checksums: str = ""
    made_from: str = ""
    lines: LineTable | None = None
    """Of a page of ours: the lines of the program that its lines come from, as it was written."""
    kernel: str = ""
    """Of a kernel: its name in the wrapper."""
    called_at: int = 0
    """Of a kernel: the line of the wrapper, the first of ``origins``, that calls it; 0 where none does."""

    @property
    def key(self) -> CompileKey | None:
        """The compilation that the file belongs to; None for no compilation."""
        return CompileKey(self.generation, self.compile_id) if self.compile_id else None

    @property
    def origin(self) -> str:
        """The first of ``origins``; "" where there is none."""
        return self.origins[0] if self.origins else ""

    @property
    def path(self) -> str:
        """The file of the program in ``origin``, where that is a place."""
        return self.origin.rpartition(":")[0]

    @property
    def first_line(self) -> int:
        """The line in ``origin``, where that is a place; else 0."""
        line = self.origin.rpartition(":")[2]
        return int(line) if line.isdecimal() and len(line) < 10 else 0
