"""The text of one kernel, C++ or Triton: its parameters, and the lines that compute.

Input: the text of a kernel's file.  Output: ``KernelText``.  Linear in the text; a text of another form has no lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CPP = re.compile(r"\bvoid\s+\w+\((?P<inside>[^;{]*?)\)\s*\{?\s*$", re.M)
_PYTHON = re.compile(r"^def \w+\((?P<inside>[^)]*)\)", re.M)
_FRAGMENT = re.compile(r"^(?:#|//)\s+%(?P<name>\w+)(?: :.*?)? = call_(?:function|method|module)\[", re.M)
_MAPPED = re.compile(r"^(?:#|//)\s+(?P<source>\w+) => (?P<nodes>[\w, ]+)$", re.M)
_POINTER = re.compile(r"\b(?P<name>(?:in_out|in|out)_ptr\d*|arg_\w+|ws_ptr|out_ptr\w*|in_ptr\w*)\b")
_RENAMED = re.compile(r"^\s*auto (?P<new>\w+) = (?P<old>\w+);\s*$")
_STORE = re.compile(
    r"(?:\.store\(|tl\.store\(|tl\.atomic_add\(|atomic_add\w*\()\s*&?(?P<name>\w+)"
    r"|^\s*(?P<indexed>(?:out|in_out)_ptr\w*)\[[^=]*\] (?:\+)?= "
)


@dataclass
class KernelText:
    """``parameters``: names in order with whether the kernel writes it; ``stores``: line -> the parameter that it
    writes."""

    parameters: list[tuple[str, bool]] = field(default_factory=list)
    stores: list[tuple[int, str]] = field(default_factory=list)
    nodes: tuple[str, ...] = ()
    """The nodes of the graph that torch's comment lists."""
    overwritten: frozenset[str] = frozenset()
    """The parameters that it reads nothing of before it has written them: their memory is used again."""
    first: int = 0
    """The line of the signature."""
    body: tuple[int, int] = (0, 0)
    by_program: bool = False
    """The program wrote it, and calls it in a compiled function: one operation of the graph is all of it."""


def kernel_text(text: str) -> KernelText:
    """The parameters and stores in a kernel's file."""
    found = KernelText(by_program="@triton_heuristics.user_autotune(" in text)
    lines = text.split("\n")
    cpp = list(_CPP.finditer(text))
    python = list(_PYTHON.finditer(text))
    match = cpp[-1] if cpp else python[-1] if python else None
    fragment = [m["name"] for m in _FRAGMENT.finditer(text)]
    mapped = [name.strip() for m in _MAPPED.finditer(text) for name in m["nodes"].split(",")]
    found.nodes = tuple(dict.fromkeys(fragment or mapped))
    if match is None:
        return found
    found.first = text.count("\n", 0, match.start()) + 1
    for part in match["inside"].split(","):
        words = part.replace("*", " ").replace("&", " ").split(":")[0].split("=")[0].split()
        if words:
            name = words[-1]
            const = "const" in words
            found.parameters.append(
                (name, name.startswith(("out_ptr", "in_out_ptr")) or (bool(cpp) and "*" in part and not const))
            )
    found.body = (text.count("\n", 0, match.end()) + 1, len(lines))
    for number in range(found.body[0], len(lines) + 1):
        store = _STORE.search(lines[number - 1])
        if store is not None:
            found.stores.append((number, store["name"] or store["indexed"]))
    found.overwritten = _overwritten(found, lines)
    return found


def _overwritten(kernel: KernelText, lines: list[str]) -> frozenset[str]:
    """C++ names the memory of ``in_out_ptr0`` again: ``auto out_ptr0 = in_out_ptr0;``."""
    written = {name for name, writes in kernel.parameters if writes}
    same = {name: name for name in written}
    stores: dict[int, str] = dict(kernel.stores)
    first: dict[str, bool] = {}
    for number in range(kernel.body[0], len(lines) + 1):
        line = lines[number - 1]
        renamed = _RENAMED.match(line)
        if renamed is not None and renamed["old"] in same:
            same[renamed["new"]] = same[renamed["old"]]
            continue
        for match in _POINTER.finditer(line):
            name = same.get(match["name"])
            if name is not None:
                first.setdefault(name, stores.get(number) == match["name"] and line.count(match["name"]) == 1)
    return frozenset(name for name, stored in first.items() if stored)
