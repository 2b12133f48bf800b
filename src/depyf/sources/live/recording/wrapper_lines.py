"""Maps the lines of a generated wrapper to the lines of the user.

Inductor keeps that map in memory (``PyCodeCache.linemaps``, filled on warm caches too); the dump keeps it as comments.
"""

from __future__ import annotations

import sys
import types
from itertools import pairwise

from depyf.decompiler.emit.comments import remark
from depyf.run.graphs.program_comments import NO_PLACE
from depyf.run.places.stack_text import frames_in
from depyf.safety.unheard import spelled_out
from depyf.sources.live.origins.probes import outside_torch


def user_lines(path: str) -> dict[int, str]:
    """Wrapper line -> ``file:line in function``, for the first line of each operation; {} where Inductor has no map.

    The place is "" where the map has none for the operation, and has one for what stands before it.
    """
    cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    linemap = getattr(cache, "linemaps", {}).get(path)
    if not linemap or len(linemap) != 2:
        return {}
    found: dict[int, str] = {}
    for line, trace in zip(*linemap):
        frame = outside_torch(frames_in(str(trace or "")))
        if frame is not None and isinstance(line, int):
            found[line] = str(frame)
        elif isinstance(line, int) and found and found[max(found)]:
            found[line] = ""
    return found


def with_user_lines(text: str, places: dict[int, str]) -> str:
    """``text`` with ``# File: ...``, or torch's words for none, after the first statement of each mapped stretch; same
    lines, same code."""
    if not places:
        return text
    lines = text.split("\n")
    ends = [*sorted(places), len(lines) + 1]
    for start, end in pairwise(ends):
        for number in range(start, min(end, len(lines) + 1)):
            body = lines[number - 1].strip()
            if body and not body.startswith(("#", "@", "def ", "class ")) and not body.endswith(("\\", "'''", '"""')):
                lines[number - 1] = remark(lines[number - 1], f"File: {places[start]}" if places[start] else NO_PLACE)
                break
    result = "\n".join(lines)
    try:  # code is compared with its constants and lines, and much faster than trees are
        same = _compiled(result) == _compiled(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        same = False
    return result if same else text  # a line inside a string is no place for a comment


def _compiled(text: str) -> types.CodeType:
    code: types.CodeType = compile(spelled_out(text), "<wrapper>", "exec", dont_inherit=True)
    return code
