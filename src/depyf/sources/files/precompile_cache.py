"""The other half of a precompile artefact, its cache: an archive of ``torch.save`` with what Inductor's caches had.

Input: bytes.  Output: ``inert_objects``: the tags of the file, and the entries of caches in it, which are pickles.
None for other bytes; SavedFileError where such a file is damaged.  Only stored archives are read: torch packs none.
"""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

from depyf.sources.files.inert_objects import Called, Pairs, fields
from depyf.sources.files.pickle_steps import SavedFileError, Steps, read_pickle
from depyf.sources.files.saved_boxes import cached_entries

ARCHIVE = b"PK\x03\x04"
_FORMAT = "torch.compiler.precompile"
_PICKLE = "/data.pkl"
_MOST_RECORDS = 64
"""Records of the archive: a cache has no tensors."""
_LARGEST = 1 << 28
_DAMAGE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, OSError, EOFError, ValueError, KeyError, NotImplementedError,
    RuntimeError, OverflowError, MemoryError, struct.error, UnicodeError,
)  # fmt: skip
"""What ``zipfile`` raises for archives that are none."""


def precompile_cache(data: bytes, steps: Steps) -> Pairs | None:
    """The content of the cache file ``data``.  None for any other file, SavedFileError for a damaged one."""
    if not data.startswith(ARCHIVE):
        return None
    try:
        packed = _packed(io.BytesIO(data))
    except _DAMAGE:
        return None
    if packed is None:
        return None
    root, _ = read_pickle(packed, steps)
    said = fields(root)
    if not isinstance(root, Pairs) or said.get("format") != _FORMAT:
        return None
    artifact = _bytes_of(said.get("artifact"))
    tags: list[tuple[object, object]] = [(key, value) for key, value in said.items() if key != "artifact"]
    return Pairs([*tags, ("entries", Pairs() if artifact is None else cached_entries(artifact))])


def code_hash_of(path: Path) -> str | None:
    """The hash of the text that the cache at ``path`` belongs to; None where there is no such cache."""
    try:
        with open(path, "rb") as file:
            if file.read(len(ARCHIVE)) != ARCHIVE:
                return None
            packed = _packed(file)
        said = fields(None if packed is None else read_pickle(packed, Steps())[0])
    except (*_DAMAGE, SavedFileError):
        return None
    found = said.get("code_hash")
    return found if said.get("format") == _FORMAT and type(found) is str else None


def _packed(file: io.BufferedIOBase | io.BufferedReader) -> bytes | None:
    """The bytes of the pickle in the archive; None where it is not one of ``torch.save`` without tensors."""
    with zipfile.ZipFile(file) as archive:
        records = archive.infolist()
        found = [one for one in records if one.filename.endswith(_PICKLE)]
        if len(found) != 1 or len(records) > _MOST_RECORDS:
            return None
        if found[0].compress_type != zipfile.ZIP_STORED or found[0].file_size > _LARGEST:
            return None
        return archive.read(found[0])


def _bytes_of(value: object) -> bytes | None:
    """Bytes as a pickle of protocol 2 has them: ``_codecs.encode(text, "latin1")``."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, Called) and value.name == "encode" and value.positional:
        text = value.positional[0]
        if type(text) is str:
            try:
                return text.encode("latin1")
            except UnicodeEncodeError:
                raise SavedFileError("its bytes are none") from None
    return None
