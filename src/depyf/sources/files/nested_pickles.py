"""A file of a pickle in which bytes are pickles again, read as they are asked for.

Input: bytes, also of a file with pickles in it (``saved_boxes.py``, ``precompile_text.py``, ``precompile_cache.py``).
Output: ``inert_objects``.
SavedFileError for a file that is neither; bytes in it that begin as one
and are none stay bytes, with a note.  All pickles of a file share one limit of steps, and one of bytes.
"""

from __future__ import annotations

from depyf.decompiler.bytecode.files.other_files import kind_of
from depyf.sources.files.pickle_steps import SavedFileError, Steps, TooLarge, read_pickle
from depyf.sources.files.precompile_cache import precompile_cache
from depyf.sources.files.precompile_text import BEGINNING, PrecompileText, precompile_text
from depyf.sources.files.saved_boxes import LONGEST_HEAD, is_boxed, unboxed

_PROTOCOLS = range(2, 6)
_AHEAD, _AHEAD_FORMAT = b"PT2AOT", 1
"""What ``save_compiled_function`` writes before the pickle from torch 2.15 on: a mark, and the number of a format."""
_FACTOR, _ROOM = 8, 1 << 16
"""How many bytes all pickles of a file may come to, for each byte of it; torch nests three levels."""

_NOTES = 20
HEAD = max(LONGEST_HEAD, len(BEGINNING))


class NestedPickles:
    """``root`` is what the file would make; ``notes`` what could not be read of it."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self.notes: list[str] = []
        self._steps = Steps()
        self._bytes_left = _ROOM + _FACTOR * len(data)
        self._known: dict[int, tuple[bytes, object]] = {}
        self.text: PrecompileText | None = precompile_text(data)
        """Where the file is the Python half of a precompile artefact."""
        self.root: object
        found = self.text.root if self.text is not None else unboxed(data) or precompile_cache(data, self._steps)
        if found is not None:
            self.root = found
            return
        data = _without_mark(data)
        if not is_pickle(data):
            kind = kind_of(data)
            raise SavedFileError(f"no pickle: it is {kind}" if kind else "no pickle: it begins as none of torch's does")
        self.root, end = read_pickle(data, self._steps)
        if end < len(data):
            self.notes.append(f"{len(data) - end} bytes follow the pickle; they are not read")

    def unfold(self, data: bytes) -> object:
        """The object pickled in ``data``; ``data`` itself where it is no pickle.  TooLarge where nested pickles exceed
        a multiple of the file's size."""
        known = self._known.get(id(data))
        if known is not None:
            return known[1]
        found: object = data
        while isinstance(found, bytes) and _is_packed(found) and found[-1:] == b".":
            self._bytes_left -= len(found)
            if self._bytes_left < 0:
                raise TooLarge(f"pickles in pickles come to more than {_FACTOR} times the file")
            try:
                found, _ = read_pickle(_without_mark(found), self._steps)
            except TooLarge:
                raise
            except SavedFileError as error:
                if len(self.notes) < _NOTES:
                    self.notes.append(f"{len(data)} bytes begin as a pickle and are none: {error}")
                break
        self._known[id(data)] = data, found
        return found


def is_saved(data: bytes) -> bool:
    """Whether a file that begins so is one that torch saved; ``HEAD`` bytes of it tell."""
    return _is_packed(data) or is_boxed(data) or data.startswith(BEGINNING)


def _is_packed(data: bytes) -> bool:
    return is_pickle(data) or data.startswith(_AHEAD)


def _without_mark(data: bytes) -> bytes:
    """The pickle of a function that was compiled ahead of time; other bytes as they are."""
    if not data.startswith(_AHEAD):
        return data
    number = data[len(_AHEAD) : len(_AHEAD) + 1]
    if number != bytes([_AHEAD_FORMAT]):
        raise SavedFileError(
            f"it is of format {number[0] if number else 'none'}; that of torch 2.15 is {_AHEAD_FORMAT}"
        )
    return data[len(_AHEAD) + 1 :]


def is_pickle(data: bytes) -> bool:
    """Whether ``data`` begins as a pickle of a protocol that torch uses."""
    return data[:1] == b"\x80" and len(data) > 2 and data[1] in _PROTOCOLS
