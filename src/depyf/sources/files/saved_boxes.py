"""Files of boxes: what ``CompiledArtifact.save`` of ``torch._inductor`` writes of a graph that was compiled alone.

Input: bytes.  Output: ``inert_objects``: the entries of caches in it, which are pickles.  The format is that of
``torch/utils/_appending_byte_serializer.py``: a checksum of four bytes, then boxes, each with its length in eight
bytes; names are in base64.  None for other bytes; SavedFileError where such a file is damaged.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from depyf.sources.files.inert_objects import Pairs
from depyf.sources.files.pickle_steps import SavedFileError

_CACHED, _AHEAD = b"CacheCompiledArtifact", b"AOTCompiledArtifact"
_SUM, _LENGTH = 4, 8
LONGEST_HEAD = _SUM + _LENGTH + len(_CACHED)
"""So many bytes tell whether a file is one."""
_VERSION = 1
_MOST = 20_000
"""Entries in one file."""


def is_boxed(data: bytes) -> bool:
    """Whether ``data`` begins as a file of torch's caches or one of ``aot_compile``."""
    return any(
        data[_SUM:LONGEST_HEAD].startswith(len(name).to_bytes(_LENGTH, "big") + name) for name in (_CACHED, _AHEAD)
    )


def unboxed(data: bytes) -> Pairs | None:
    """The pickles in such a file, by name: ``artifact``, or the entries of torch's caches.  None for any other file."""
    if not is_boxed(data):
        return None
    boxes = _Boxes(data)
    name = boxes.take()
    boxes.take()  # torch's key: what the file must be loaded with
    if name == _AHEAD:
        return Pairs([("artifact", boxes.last())])
    key = boxes.text()
    return Pairs([("key", key), ("entries", cached_entries(boxes.last()))])


def cached_entries(data: bytes) -> Pairs:
    """The entries of torch's caches in a file of ``save_cache_artifacts``, by type.  SavedFileError for a damaged file
    or another format."""
    boxes = _Boxes(data)
    version = boxes.number()
    if version != _VERSION:
        raise SavedFileError(f"its entries have the format {version}; that of torch 2.13 is {_VERSION}")
    found: list[tuple[object, object]] = []
    while not boxes.finished:
        kind, count = boxes.text(), boxes.number()
        if len(found) + count > _MOST:
            raise SavedFileError(f"it says that it has {len(found) + count} entries")
        for number in range(count):
            boxes.text()  # the key, a hash
            found.append((kind if count == 1 else f"{kind}_{number}", boxes.take()))
    return Pairs(found)


class _Boxes:
    def __init__(self, data: bytes) -> None:
        if len(data) < _SUM or zlib.crc32(data[_SUM:]).to_bytes(_SUM, "big") != data[:_SUM]:
            raise SavedFileError("its checksum does not fit: it is damaged")
        self._data, self._at = data, _SUM

    @property
    def finished(self) -> bool:
        return self._at == len(self._data)

    def number(self) -> int:
        end = self._at + _LENGTH
        if end > len(self._data):
            raise SavedFileError("it ends too early")
        value = int.from_bytes(self._data[self._at : end], "big")
        self._at = end
        return value

    def take(self) -> bytes:
        size = self.number()
        if size > len(self._data) - self._at:
            raise SavedFileError("it ends too early")
        found = self._data[self._at : self._at + size]
        self._at += size
        return found

    def text(self) -> str:
        try:
            return base64.b64decode(self.take(), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise SavedFileError(f"a name in it is none: {error}") from None

    def last(self) -> bytes:
        found = self.take()
        if not self.finished:
            raise SavedFileError("bytes follow what it says that it has")
        return found
