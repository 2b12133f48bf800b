"""Which edited file was used for what, how often, and what is said of it at the end.

Input: an ``EditedDump`` and, while the program runs, what torch makes: of which function, for which stage, with which
checksum.  Output: the file to use in its place, if there is one; lines for the user; an error for files never used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from depyf.actions.edit.edited_file import EditedFile
from depyf.actions.edit.edited_files import EditedDump
from depyf.actions.edit.edited_guards import GUARDS
from depyf.errors import DepyfError
from depyf.run.files.checksums import meaning_checksum
from depyf.run.records import CompileKey
from depyf.sources.live.texts_in_force import EditInForce, forget_edits, keep_edit

Texts = Callable[[EditedFile], tuple[str, ...]]


@dataclass
class EditedCompilation:
    """One compilation of a function while the edits are in force."""

    function: str
    number: int
    """0 for the first of its function."""
    compile_id: str
    """What torch calls it now; the dump may call it something else."""
    replaced: list[EditedFile] = field(default_factory=list)
    """The edited files in force in it so far."""


class Uses:
    """The edited files of one block.  Backwards may be compiled in other threads."""

    def __init__(self, dump: EditedDump) -> None:
        self.dump = dump
        self._lock = threading.Lock()
        self._calls = {file.name: 0 for file in dump.files}
        self._claimed: dict[str, EditedCompilation] = {}
        """File -> the compilation that it was put into."""
        self._compiled: dict[str, int] = {}
        self._reasons: dict[str, str] = {}
        self.paused = False
        """Calls are ours, and do not count."""

    def begin(self, function: str, compile_id: str) -> EditedCompilation:
        """Torch compiles ``function`` (a qualified name) now."""
        with self._lock:
            number = self._compiled.get(function, 0)
            self._compiled[function] = number + 1
        return EditedCompilation(function, number, compile_id)

    def file_for(
        self, compilation: EditedCompilation, stage: str, texts: Texts, kind: str = "graph"
    ) -> EditedFile | None:
        """The edited file that takes the place of what torch made for the stage; None without one.

        ``texts`` gives what torch made as the dump would say it, for the compile id of a file, in each way that it may
        be printed.  Torch numbers the compilations of a process, so that the same one may have another number now:
        files are paired by function, by their place among its compilations, and by what torch made, which must be the
        same.
        """
        found = self.files_for(compilation, stage, texts, kind, most=1)
        return found[0] if found else None

    def files_for(
        self, compilation: EditedCompilation, stage: str, texts: Texts, kind: str, most: int = 1 << 30
    ) -> list[EditedFile]:
        """As ``file_for``, where several files may come from one text, such as the kernels of a wrapper.  ``most``: the
        largest number of files."""
        files = [file for file in self.dump.files if file.kind == kind and file.stage == stage]
        files = [file for file in files if self._function(file) == compilation.function]
        if not files:
            return []
        expected = self._expected(compilation)
        found = [file for file in files if file.made_from in map(meaning_checksum, texts(file))]
        own = [file for file in found if expected in file.keys]
        if not own and any(self._made_for(expected, file) for file in found):
            found = []  # torch makes the same for several entries: these files are those of another one
        taken: list[EditedFile] = []
        for file in (own or found)[:most]:
            if own or self._claimed.setdefault(file.name, compilation) is compilation:
                self._claimed[file.name] = compilation
                self._take(compilation, file)
                taken.append(file)
        for file in files if not taken else ():
            if expected in file.keys:
                self._reasons[file.name] = self._why_other(compilation)
        return taken

    def guards_for(self, compilation: EditedCompilation) -> EditedFile | None:
        """The edited guards of the entry in the dump that is at the place of ``compilation``; None without any.  They
        are in use once ``guards_fit`` is called."""
        expected = self._expected(compilation)
        found = (file for file in self.dump.files if file.kind == GUARDS and expected in file.keys)
        return next((file for file in found if self._function(file) == compilation.function), None)

    def guards_fit(self, compilation: EditedCompilation, file: EditedFile, fits: bool) -> None:
        """Whether torch makes the guards of ``file`` for ``compilation`` now, apart from the edits."""
        if not fits:
            self._reasons[file.name] = self._why_other(compilation)
        elif self._claimed.setdefault(file.name, compilation) is compilation:
            self._take(compilation, file)

    def _take(self, compilation: EditedCompilation, file: EditedFile) -> None:
        compilation.replaced.append(file)
        keep_edit(compilation.compile_id, EditInForce(str(file.path), file.lines))

    def ended(self) -> None:
        """Forget the edits: no code that was made with these files is left."""
        forget_edits(str(file.path) for file in self.dump.files)

    def called(self, files: list[EditedFile]) -> None:
        """Count a call of compiled code that contains these files."""
        with self._lock:
            for file in files if not self.paused else ():
                self._calls[file.name] += 1

    def is_edited(self, function: str) -> bool:
        """Whether a file of this function was edited."""
        return any(self._function(file) == function for file in self.dump.files)

    def not_usable(self, file: EditedFile, reason: str) -> None:
        """Keep the ``reason`` why ``file`` cannot be used, for the error at the end."""
        self._reasons[file.name] = reason

    def lines(self) -> list[str]:
        """One line for each edited file: how it was used."""
        return [f"edited: {file.name} ({file.changed}), used {_times(self._calls[file.name])}" for file in self._used()]

    def missing(self) -> DepyfError | None:
        """An error that names the edited files that were never used; None where all were used."""
        unused = [file for file in self.dump.files if file.name not in self._claimed]
        if not unused:
            return None
        lines = [f"{file.path} was edited ({file.changed}) and never used: {self._why_unused(file)}" for file in unused]
        return DepyfError("\n".join(lines))

    def _used(self) -> list[EditedFile]:
        return [file for file in self.dump.files if file.name in self._claimed]

    def _function(self, file: EditedFile) -> str:
        return next((name for found in file.keys if (name := self.dump.function_of(found))), "")

    def _expected(self, compilation: EditedCompilation) -> CompileKey | None:
        """The compilation in the dump that was made at the same place."""
        keys = next((known.keys for known in self.dump.functions if known.name == compilation.function), ())
        return keys[compilation.number] if compilation.number < len(keys) else None

    def _made_for(self, key: CompileKey | None, file: EditedFile) -> bool:
        """Whether torch made for ``key`` what it made for ``file``, when the dump was written."""
        return key is not None and file.made_from in self.dump.made_from.get(key, ())

    def _why_other(self, compilation: EditedCompilation) -> str:
        earlier = [file.name for file in compilation.replaced]
        if earlier:
            return f"with the edit of {', '.join(earlier)}, torch makes something else here: edit one stage at a time"
        return (
            f"what torch makes for {compilation.function} (now compile id {compilation.compile_id}) is not what it "
            "made when the dump was written: the program, its inputs or torch's settings are others"
        )

    def _why_unused(self, file: EditedFile) -> str:
        reason = self._reasons.get(file.name)
        if reason:
            return reason
        function, ids = self._function(file), ", ".join(key.label for key in file.keys) or "none"
        if function and function not in self._compiled:
            return f"its function {function} (compile id {ids}) was not compiled in this run"
        return f"torch did not get to this stage of compile id {ids} in this run"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
