"""Texts of torch without the addresses and ids of objects, which differ in every run.

Input: what torch or a ``repr`` prints.  Output: the same text in every run.  A global that torch names after an address
keeps a separate name:

    ___unnamed_scope_139871234567890_c94  ->  ___unnamed_scope_c94
    ___unnamed_scope_139879876543210_c94  ->  ___unnamed_scope_2_c94     (another object of the same compilation)

The number after ``_c`` belongs to one compilation of the process (``OutputGraph.install_global_by_id``), so the second
name is the same in every run in which a compilation's guards are read in the order torch prints them.
"""

from __future__ import annotations

import functools
import re
import threading

_AT = re.compile(r"0x[0-9a-fA-F]{5,}")
_IN_NAME = re.compile(r"\b(__\w*?)(?<!_[0-9a-f]{4}_[0-9a-f]{4})_\d{12,}\b")
"""A function that torch makes for one guard: ``__dtensor_spec_139871234567890``; not the end of a uuid."""
_VERSION = re.compile(r"(?<=\) == )\d+$")
"""The version of a dictionary, a counter of the process: ``___dict_version(...) == 1078199``."""
_LONG_NUMBER = re.compile(r"\d{7}")
_IDENTITY = re.compile(r"(__check_\w+\((?:[^\n]*?, )??)\d{7,}(?=\)(?:, type=|\s|$))")
"""What torch's own checks compare with: ``___check_obj_id(L['f'], 139871234567890), type=...``; any other number is the
program's."""
_IDENTITIES = re.compile(r"(?<=top_saved_tensors_hooks ids == ).*")
_NAME = re.compile(r"\w*?(?:_\d{12,})+_c\d+\b")
_NUMBER = re.compile(r"(?:_\d{12,})+(?=_c\d+\b)")
_LOCK = threading.Lock()
_KNOWN: dict[str, str] = {}
_SHOWN: dict[str, str] = {}


def shown_names(text: str) -> str:
    """``text`` with each such name as it is shown."""
    return _NAME.sub(_shown, text)


def made_name(shown: str) -> str | None:
    """The name torch made that ``shown_names`` shows as ``shown``; None where it showed none so in this process."""
    return _KNOWN.get(shown)


def _shown(match: re.Match[str]) -> str:
    made = match[0]
    with _LOCK:
        shown = _SHOWN.get(made)
        if shown is None:
            shown = _NUMBER.sub("", made)
            count = 1
            while shown in _KNOWN:
                count += 1
                shown = _NUMBER.sub(f"_{count}", made)
            _KNOWN[shown], _SHOWN[made] = made, shown
        return shown


@functools.lru_cache(maxsize=4096)
def without_addresses(text: str) -> str:
    """``text`` with object addresses and ids replaced: they differ in every run."""
    if text.startswith("___dict_version("):
        text = _VERSION.sub("ID", text)
    if "0x" not in text and _LONG_NUMBER.search(text) is None:  # nearly always, and three times as fast to know
        return text
    text = _IN_NAME.sub(r"\1", shown_names(_AT.sub("0xADDR", text)))
    return _IDENTITIES.sub(_numbers, _IDENTITY.sub(r"\1ID", text))


def _numbers(match: re.Match[str]) -> str:
    return re.sub(r"\d{7,}", "ID", match[0])


def has_identity(text: str) -> bool:
    """Whether ``text`` says the address or id of an object, and not only names that are made of one."""
    return any(pattern.search(text) is not None for pattern in (_AT, _IDENTITY, _IDENTITIES))
