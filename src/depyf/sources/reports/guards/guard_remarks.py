"""Parses the comment that torch writes after a guard: the line of the program, its place, and why.

Input: ``guard  # code  # file:line in function (why)``, as torch prints it.  Output: the parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from depyf.run.addresses import without_addresses
from depyf.run.places.place import Place
from depyf.sources.reports.guards.guard_names import is_expression

_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+) in (?P<function>\S+)(?: \((?P<why>.*)\))?$", re.S)
_IN_PARENTHESES = re.compile(r"^\((\S+:\d+ in \S+)\)$")
"""How torch writes a place where it knows no line of the program: a place in torch's code."""
_JOINED = re.compile(r"^.*:\d+ in [\w<>.]+\)?(?: \(.*\))? and (?=\S)", re.S)
"""What stands before the last origin of a guard that torch has made of several (a range, from both of its ends)."""
_REMARK = re.compile(r"\s+# ")
_STRING_OR_REMARK = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?P<remark>\s+# )""")


def split_comment(text: str, resolve: Callable[[str], str]) -> tuple[str, Place | None, str]:
    """``guard  # code  # file:line in function (why)`` taken apart."""
    parts = _remarks(text)
    told = _origin(parts[1:], resolve)
    if told is not None:
        return parts[0].rstrip(), *told
    for position in range(1, len(parts)):  # a remark of torch without a line: "duck sizing added this equality ..."
        guard = "  # ".join(parts[:position]).rstrip()
        if is_expression(guard):
            return guard, None, without_addresses("  # ".join(parts[position:]).strip())
    guard, hint, advice = text.strip().partition(" (HINT: ")  # for a guard without a line
    if hint and (is_expression(guard.strip()) or guard.strip().startswith("___check_")):
        return guard.strip(), None, without_addresses(advice.removesuffix(")"))
    return text.strip(), None, ""


def read_remark(remark: str, resolve: Callable[[str], str]) -> tuple[Place, str] | None:
    """What stands after the first ``# `` of a guard: the place and why; None where it tells no place."""
    return _origin(_apart(remark), resolve)


def _origin(parts: list[str], resolve: Callable[[str], str]) -> tuple[Place, str] | None:
    for position in range(len(parts) - 1, -1, -1):
        match = _PLACE.match(_IN_PARENTHESES.sub(r"\1", parts[position].strip()))
        if match is not None:
            code = "  # ".join(parts[:position]).strip()  # a line of source may end in a comment
            place = Place(resolve(match["file"]), int(match["line"]), match["function"], _JOINED.sub("", code))
            return place, without_addresses(match["why"] or "")
    return None


def program_place(place: Place | None) -> Place | None:
    """``place``, where it is no line of Dynamo itself: such a line says nothing about the program."""
    own = place is not None and ("torch/_dynamo/" in place.filename or place.filename.startswith("_dynamo/"))
    return None if own else place


def _remarks(text: str) -> list[str]:
    """``text`` taken apart at each ``# `` that stands after a space, but for those in strings of the guard itself."""
    found = next((match for match in _STRING_OR_REMARK.finditer(text) if match["remark"]), None)
    return [text] if found is None else [text[: found.start()], *_apart(text[found.end() :])]


def _apart(text: str) -> list[str]:
    """Nearly always these are the two spaces of torch."""
    parts = text.split("  # ")
    if text.count("# ") == len(parts) - 1 and not any(part[-1:].isspace() for part in parts[:-1]):
        return parts
    return _REMARK.split(text)
