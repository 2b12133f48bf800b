"""Stable, readable names for the globals that Dynamo invents.

Dynamo calls a compiled graph ``__compiled_fn_<counter>_<uuid>``: another name in every run, and nothing a reader can
look up.  The dump calls it ``__compiled_fn_<compile id>``, which is also how its files begin.
"""

from __future__ import annotations

import re

from depyf.run.records import CompileKey
from depyf.safety.escape import safe_name

GRAPH = "__compiled_fn_"
"""How the names of compiled graphs begin, torch's and those of a dump."""
RESUME = "__resume_at_"
"""How the names of the globals begin that continue a function after a graph break."""
BUILTINS = "__builtins_dict__"
"""How Dynamo's name of the dictionary of builtins begins."""
IMPORTED = "__import_"
"""How Dynamo's name of another module begins (``torch/_dynamo/output_graph.py``, ``import_source``)."""
STACK_VARIABLE = re.compile(r"\b___stack\d+\b")
"""Dynamo's name of a value that goes over a graph break."""
COMPILED_FN = re.compile(r"^__compiled_fn_\d+(?:_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?$")
PACKAGE = "aoti"
"""How the names begin that we give to what AOTInductor compiles: torch has no compile id for it."""
PRECOMPILED = "precompiled"
"""How the names begin that we give to a graph that ``torch.compiler.precompile`` captures or loads."""
RESUME_PREFIX = "torch_dynamo_resume_in_"
"""How Dynamo's name of the code after a graph break begins."""
_RESUME_CODE = re.compile(rf"{RESUME_PREFIX}(?P<name>.+)_at_(?P<line>\d+)$")
RESUME_FN = re.compile(r"^__resume_at_(?P<offset>\d+)_\d+(?:_.*)?$")
_CHANGING = re.compile(r"_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}|_\d{12,}(?=_|$)")
"""Parts of invented names that differ in every run: uuids and object ids."""
_WORD = re.compile(r"\b\w+\b")
_AT_OFFSET = re.compile(r"\b(__(?:original_)?resume)_at_\d+_(\d+)\b")
"""Dynamo names a resume function after the offset of the instruction that it goes on at, and a counter."""
_COUNTED = re.compile(r"\b(?P<stem>__(?:original_|nested_)*resume_|__builtins_dict___)\d+\b")


def resumed(name: str) -> tuple[str, int] | None:
    """The function that goes on after a graph break, and the line of the break, in Dynamo's name of that code; None for
    another name.

    >>> resumed("Net.torch_dynamo_resume_in_forward_at_9")
    ('Net.forward', 9)
    """
    match = _RESUME_CODE.search(name) if RESUME_PREFIX in name else None
    return (name[: match.start()] + match["name"], int(match["line"])) if match is not None else None


def imported_module(name: str) -> str:
    """The module that an invented global is: ``torch.nn`` for ``__import_torch_dot_nn``; "" for another name."""
    return name.removeprefix(IMPORTED).replace("_dot_", ".") if name.startswith(IMPORTED) else ""


def in_words(name: str) -> str:
    """Dynamo's name of a function, worded for a sentence: ``the rest of Net.forward after line 9``."""
    rest = resumed(name)
    return name if rest is None else f"the rest of {rest[0]} after line {rest[1]}"


def without_offsets(text: str) -> str:
    """``text`` with ``__resume_13`` for ``__resume_at_110_13``: where the code goes on depends on Python's version."""
    return _AT_OFFSET.sub(r"\1_\2", text)


def with_counters(before: str, after: str) -> str:
    """``before`` with the counters that Dynamo has in names as in ``after``, where they are others throughout.

    >>> with_counters("__resume_3(__resume_4, __resume_3)", "__resume_8(__resume_9, __resume_8)")
    '__resume_8(__resume_9, __resume_8)'
    """
    one, two = list(_COUNTED.finditer(before)), list(_COUNTED.finditer(after))
    names = {a[0]: b[0] for a, b in zip(one, two)}
    alike = len(one) == len(two) and len(set(names.values())) == len(names)
    if not alike or any((names[a[0]], a["stem"]) != (b[0], b["stem"]) for a, b in zip(one, two)):
        return before
    return _COUNTED.sub(lambda match: names[match[0]], before)


def goes_on_name(line: int | None) -> str:
    """depyf's name for the place, at the program's ``line``, where a text continues in another one."""
    return "goes_on" if line is None else f"goes_on_from_line_{line}"


TRANSFORMED = "__transformed_code_"
"""How the names of the functions begin that are made of Dynamo's code."""


def transformed_name(key: CompileKey, function: str) -> str:
    return f"{TRANSFORMED}{key.slug}_for_{safe_name(function)}"


def graph_name(key: CompileKey) -> str:
    return f"{GRAPH}{key.slug}"


def readable_globals(key: CompileKey, names: tuple[str, ...]) -> dict[str, str]:
    """Map each invented global among ``names`` that needs another name to that name."""
    renamed: dict[str, str] = {}
    graphs = [name for name in names if COMPILED_FN.match(name)]
    for position, name in enumerate(graphs):
        renamed[name] = graph_name(key) + (f"_{position}" if position else "")
    for name in names:
        if name not in renamed and _CHANGING.search(name):
            renamed[name] = without_changing_parts(name)
    taken: set[str] = set(names) - set(renamed)
    for name, new in list(renamed.items()):
        while new in taken:
            new += "_"
        taken.add(new)
        renamed[name] = new
    return renamed


def without_changing_parts(name: str) -> str:
    """An invented global as the dump calls it."""
    return _CHANGING.sub("", name)


def rename(text: str, renamed: dict[str, str]) -> str:
    """Replace whole identifiers; line structure is unchanged."""
    found = [name for name in renamed if name in text]
    if not found:
        return text
    if len(found) == 1 and found[0].isidentifier():  # the usual case: to compile an expression takes longer
        return _with_word(text, found[0], renamed[found[0]])
    words = re.compile(rf"\b{re.escape(found[0])}\b") if len(found) == 1 else _WORD
    return words.sub(lambda match: renamed.get(match.group(), match.group()), text)


def _with_word(text: str, name: str, new: str) -> str:
    """``text`` with ``new`` where the identifier ``name`` stands alone."""
    parts: list[str] = []
    done = searched = 0
    while (at := text.find(name, searched)) >= 0:
        searched = at + len(name)
        if not (at and _in_word(text[at - 1])) and not _in_word(text[searched : searched + 1]):
            parts += text[done:at], new
            done = searched
    return "".join((*parts, text[done:]))


def _in_word(char: str) -> bool:
    return char == "_" or char.isalnum()
