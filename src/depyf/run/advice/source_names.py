"""What a guard is about, as the user would call it.

Input: torch's name of a source (``L['self'].k``, ``G['MODE']``).  Output: text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OF_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")
_IN_DICT = re.compile(r"\.__dict__\['(\w+)'\]")
_ARGUMENT = re.compile(r"(?:\bL\['args'\]|\bargs)\[(\d+)\]")
_OBJECT = re.compile(r"\bL\['fn'\]|\bfn\b(?=[.\[])")
_VARIABLE = re.compile(r"([LG])\['(\w+)'\](.*)$", re.S)


def by_attribute(source: str) -> str:
    """``L['self'].__dict__['k']`` -> ``L['self'].k``: torch writes the first where the class defines
    ``__getattr__``."""
    return _IN_DICT.sub(r".\1", source) if "__dict__" in source else source


def named(source: str) -> str:
    """``L['self'].k`` -> ``self.k``; ``G['MODE']`` -> ``the global MODE``."""
    text = by_attribute(source)
    text = _OF_MODULE.sub(r".\1", text) if "._" in text else text
    if text.startswith("len(") and text.endswith(")"):
        return f"len({named(text[4:-1])})"
    match = _VARIABLE.match(text)
    if match is None:
        return text
    return f"{match[2]}{match[3]}" if match[1] == "L" else f"the global {match[2]}{match[3]}"


def of_wrapped(text: str, parameters: Sequence[str]) -> str:
    """``text`` about the variables of torch's wrapper around an object, in terms of that: ``args[0].size()`` ->
    ``input.size()``; ``parameters``: what the object's function calls the wrapper's positional arguments."""

    def parameter(match: re.Match[str]) -> str:
        number = int(match[1])
        return parameters[number] if number < len(parameters) else match[0]

    return _OBJECT.sub("self", _ARGUMENT.sub(parameter, text))


def root(source: str) -> str:
    """The variable that a source begins with: ``x`` of ``L['x'].size()[0]``; "" where it begins with none."""
    match = re.match(r"(?:len\()?(?:L\['(\w+)'\]|(\w+))", source)
    return (match[1] or match[2]) if match and not source.startswith("G[") else ""


def passed(source: str) -> str:
    """A tensor that the caller has in hand, as the caller would say it: ``x``, ``batch['image']``; "" for what is
    reached through an attribute (of a module, of a cache that the function keeps) or a global: there is no place to
    mark it at."""
    name = re.sub(r"^kwargs\['(\w+)'\]", r"\1", "" if is_global(source) else named(source))
    return name if re.fullmatch(r"\w+(?:\[(?:\d+|'\w+')\])*", name) and name != "self" else ""


def is_global(source: str) -> bool:
    """Whether a source begins with a global."""
    return source.removeprefix("len(").startswith("G[")


def in_module(source: str) -> bool:
    """Whether a source is a parameter or a buffer of a module."""
    return re.search(r"\._(?:parameters|buffers)\[", source) is not None
