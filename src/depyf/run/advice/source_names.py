"""torch's name of a value (``L['self'].k``, ``G['MODE']``, ``L['x'].size()[0]``), taken apart.

Input: the name, or an expression with such names in it.  Output: the parts, or the value as the user would call it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
_OF_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]*)'\]")
_MODULE = re.compile(r"L\['(\w+)'\]\._(?:modules|parameters|buffers)\b")
_PATH = re.compile(r"((?:\._modules\['[^']+'\])+)")
_LOCAL = re.compile(r"\bL\['([^\W\d]\w*)'\]")
_SIZE = re.compile(r"(?P<tensor>.+)\.(?P<what>size|stride)\(\)\[(?P<index>\d+)\]", re.S)
_OFFSET = ".storage_offset()"
_LAYOUT = re.compile(r"\.(?:stride|storage_offset)\(\)")
_IN_DICT = re.compile(r"\.__dict__\['(\w+)'\]")
_ARGUMENT = re.compile(r"(?:\bL\['args'\]|\bargs)\[(\d+)\]")
_OBJECT = re.compile(r"\bL\['fn'\]|\bfn\b(?=[.\[])")
_VARIABLE = re.compile(r"([LG])\['(\w+)'\](.*)$", re.S)


GLOBAL = "the global "


def by_attribute(source: str) -> str:
    """``L['self'].__dict__['k']`` -> ``L['self'].k``: torch writes the first where the class defines
    ``__getattr__``."""
    return _IN_DICT.sub(r".\1", source) if "__dict__" in source else source


def named(source: str) -> str:
    """``L['self'].k`` -> ``self.k``; ``G['MODE']`` -> ``the global MODE``."""
    text = by_attribute(source)
    text = without_registries(text)
    if text.startswith("len(") and text.endswith(")"):
        return f"len({named(text[4:-1])})"
    match = _VARIABLE.match(text)
    if match is None:
        return text
    return f"{match[2]}{match[3]}" if match[1] == "L" else f"{GLOBAL}{match[2]}{match[3]}"


def split_global(name: str) -> tuple[str, str]:
    """The words in front of what ``named`` gives for a global, and the expression; "" in front of another value."""
    return (GLOBAL, name.removeprefix(GLOBAL)) if name.startswith(GLOBAL) else ("", name)


def of_wrapped(text: str, parameters: Sequence[str]) -> str:
    """Rewrite ``text`` from the variables of torch's wrapper to those of the wrapped object's function:
    ``args[0].size()`` becomes ``input.size()``.  ``parameters``: the names of its positional parameters."""

    def parameter(match: re.Match[str]) -> str:
        number = int(match[1])
        return parameters[number] if number < len(parameters) else match[0]

    return _OBJECT.sub("self", _ARGUMENT.sub(parameter, text))


def root(source: str) -> str:
    """The local variable that a source begins with: ``x`` of ``L['x'].size()[0]``; "" where it begins with none."""
    match = re.match(r"(?:len\()?(?:L\['(\w+)'\]|(\w+))", source)
    return (match[1] or match[2]) if match and not source.startswith("G[") else ""


def passed(source: str) -> str:
    """The name of a tensor that the caller passes: ``x``, ``batch['image']``.  "" for a global and for what is read
    from an attribute: the caller has no such tensor to mark."""
    name = re.sub(r"^kwargs\['(\w+)'\]", r"\1", "" if is_global(source) else named(source))
    return name if re.fullmatch(r"\w+(?:\[(?:\d+|'\w+')\])*", name) and name != "self" else ""


def is_global(source: str) -> bool:
    """Whether a source begins with a global."""
    return source.removeprefix("len(").startswith("G[")


def in_module(source: str) -> bool:
    """Whether a source is a parameter or a buffer of a module."""
    return re.search(r"\._(?:parameters|buffers)\[", source) is not None


@dataclass(frozen=True, slots=True)
class SizeSource:
    """``L['x'].size()[0]``: a number in the layout of a tensor."""

    tensor: str
    what: str
    """``size``, ``stride`` or ``storage_offset``."""
    index: int | None
    """The dimension; None for the offset."""


def size_source(source: str) -> SizeSource | None:
    """The tensor, property and index in a source such as ``L['x'].size()[0]``; None for any other source."""
    match = _SIZE.fullmatch(source)
    if match is not None:
        return SizeSource(match["tensor"], match["what"], int(match["index"]))
    if source.endswith(_OFFSET) and source != _OFFSET:
        return SizeSource(source.removesuffix(_OFFSET), "storage_offset", None)
    return None


def size_source_text(size: SizeSource) -> str:
    """The source text of ``size``: the inverse of ``size_source``."""
    return size.tensor + _OFFSET if size.index is None else f"{size.tensor}.{size.what}()[{size.index}]"


def reads_strides(expression: str) -> bool:
    """Whether an expression reads a stride or the storage offset of a tensor."""
    return _LAYOUT.search(expression) is not None


def reads_layout(expression: str) -> bool:
    """Whether an expression reads a size, a stride or the storage offset of a tensor."""
    return ".size()" in expression or reads_strides(expression)


def without_mapping(expression: str) -> str:
    """``L['x'].size()`` -> ``x.size()``."""
    return _LOCAL.sub(r"\1", expression)


def module_variable(expression: str) -> str:
    """The variable whose modules, parameters or buffers an expression reads; "" where it reads none."""
    match = _MODULE.search(by_attribute(expression))
    return match[1] if match is not None else ""


def module_names(source: str) -> list[str]:
    """The modules on the way to a value: ``["h", "0"]`` of ``L['self']._modules['h']._modules['0'].calls``."""
    match = _PATH.search(by_attribute(source))
    return _OF_MODULE.findall(match[1]) if match is not None else []


def without_registries(source: str, step: Callable[[str], str] | None = None) -> str:
    """``self._modules['fc']`` -> ``self.fc``; ``step`` writes a name, where also those that are no words are to go."""
    if "._" not in source:
        return source
    return _OF_MODULE.sub(lambda match: step(match[1]) if step else _attribute(match), source)


def _attribute(match: re.Match[str]) -> str:
    return f".{match[1]}" if _WORD.fullmatch(match[1]) else match[0]
