"""Names of globals that torch makes of an object's address, without the address.

    ___unnamed_scope_139871234567890_c94  ->  ___unnamed_scope_c94
    ___unnamed_scope_139879876543210_c94  ->  ___unnamed_scope_2_c94     (another object of the same compilation)

The number behind ``_c`` belongs to one compilation of the process (``OutputGraph.install_global_by_id``), so the second
name is the same in every run in which a compilation's guards are read in the order torch prints them.
"""

from __future__ import annotations

import re
import threading

_NAME = re.compile(r"\w*?(?:_\d{12,})+_c\d+\b")
_ADDRESS = re.compile(r"(?:_\d{12,})+(?=_c\d+\b)")
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
            shown = _ADDRESS.sub("", made)
            count = 1
            while shown in _KNOWN:
                count += 1
                shown = _ADDRESS.sub(f"_{count}", made)
            _KNOWN[shown], _SHOWN[made] = made, shown
        return shown
