"""The code that Inductor generated to call kernels, statement by statement.

Input: the text of a wrapper (Python, or the C++ that ``cpp_wrapper`` compiles).  Output: ``WrapperText``: the calls of
kernels with the buffers that they read and write, and what the other lines do to which buffer.  Linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SOURCES = re.compile(
    r"^\s*(?:#|//) (?:Topologically Sorted|Unsorted|Topologically) ?Source Nodes: \[(?P<nodes>[^\]]*)\]"
    r"|^\s*(?:#|//) Source Nodes: \[(?P<old>[^\]]*)\]"
)
_ATEN = re.compile(r"Original ATen: \[(?P<ops>[^\]]*)\]")
_DEF = re.compile(
    r"^(?P<indent> *)(?:def (?:call|partition_\d+|call_\w+)\("
    r"|(?:void|static \w+|inline \w+) .*(?:run_impl|inductor_entry_impl)\w*\()"
)
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*(?![\w(\"'.]*\()")
_ASSIGN = re.compile(r"^(?:auto |static \w+ )?(?P<name>[A-Za-z_]\w*) = (?P<value>.*)$")
_ALIAS = re.compile(r"^(?:auto )?(?P<new>\w+) = (?:reinterpret_tensor\()?(?P<old>\w+)\b.*;\s*del (?P=old)\b")
_ITEM = re.compile(r"^(?:auto )?(?P<new>\w+) = (?P<old>\w+)\[\d+\]$")
_PART = re.compile(r"^(?:auto )?(?P<new>\w+) = reinterpret_tensor\((?P<old>\w+)\b[^;]*$")
_CALL = re.compile(r"(?P<callee>[A-Za-z_][\w.:]*)\(")
_ALLOCATES = ("empty_strided", "alloc_from_pool", "rand_strided", "aoti_torch_empty_strided")
_CHECKS = (
    "assert_size_stride", "assert_alignment", "args.clear", "del ", "return", "with ", "raise", "print(", "torch._C._",
    "get_raw_stream", "device_guard",
)  # fmt: skip
_STRING = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_VIEW_OF = re.compile(r"reinterpret_tensor\((\w+)")
_HELPERS = frozenset((
    "del", "with", "not", "and", "is", "reinterpret_tensor", "c_void_p", "torch", "aten", "device", "stream", "stream0",
    "None", "True", "False", "alpha", "beta", "out", "inf", "nan",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call: its line, ``kernel`` (a name that the wrapper defines; "" for code of a library), and its buffers."""

    line: int
    kernel: str
    callee: str
    arguments: tuple[str, ...]
    """The names of buffers and inputs, in order; "" for what is none."""
    written: tuple[str, ...]
    """What a call of a library writes; a kernel's text says what that writes."""
    sources: tuple[str, ...] = ()
    """The nodes that torch names in the comment above: of the captured graph, or of the backward."""
    operators: tuple[str, ...] = ()
    comments: tuple[int, ...] = ()

    @property
    def in_place(self) -> bool:
        """Whether a torch operator writes to its arguments, such as ``aten.scatter_reduce_.two``."""
        return not self.kernel and _in_place(self.callee)


def _in_place(callee: str) -> bool:
    return any(part.endswith("_") for part in callee.split("."))


@dataclass
class WrapperText:
    """``first`` to ``last`` are the lines of the functions that call kernels; ``kernels``: name -> the line of its
    definition."""

    calls: list[KernelCall] = field(default_factory=list)
    others: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    """Line -> the buffers that it allocates, checks, renames, frees or returns."""
    allocated: dict[str, str] = field(default_factory=dict)
    """Buffer -> what its allocation says: ``(4, 32), (32, 1), torch.float32``."""
    inputs: tuple[str, ...] = ()
    renamed: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, new name, old name of a buffer whose memory is used again, or of one of several results."""
    parts: dict[str, str] = field(default_factory=dict)
    """A name for a part of a buffer -> the buffer: what is put together is written part by part."""
    returned: tuple[str, ...] = ()
    """What the last ``return`` gives back: a buffer's name, "" for anything else."""
    kernels: dict[str, int] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)


def wrapper_text(text: str, kernels: frozenset[str]) -> WrapperText:
    """The calls in ``text``; ``kernels`` are the names of the kernels that the dump has files of."""
    found = WrapperText()
    indent = -1
    start = 0
    sources: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    above: list[int] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        opens = _DEF.match(line)
        if indent >= 0 and stripped and depth <= indent and not line.startswith(" " * (indent + 1)) and not opens:
            if stripped.startswith("}") or depth < indent or not stripped.startswith((")", "//", "#")):
                found.spans.append((start, number - 1))
                indent = -1
        if opens is not None:
            if indent >= 0:
                found.spans.append((start, number - 1))
            indent, start = len(opens["indent"]), number
            sources, operators, above = (), (), []
            continue
        if indent < 0:
            definition = re.match(r"^(\w+) = async_compile\.", line)
            if definition is not None:
                found.kernels[definition[1]] = number
            continue
        if not stripped:
            continue
        comment = _SOURCES.match(line)
        if comment is not None:
            sources = _listed(comment["nodes"] or comment["old"] or "")
            aten = _ATEN.search(line)
            operators = _listed(aten["ops"]) if aten is not None else ()
            above = [number]
            continue
        if stripped.startswith(("#", "//")):
            continue
        code = _STRING.sub("''", stripped.partition("  # ")[0])
        if " = args" in code and not found.inputs:
            found.inputs = tuple(name.strip() for name in code.partition(" = args")[0].split(",") if name.strip())
            found.others.append((number, found.inputs))
            continue
        renamed = _ALIAS.match(code)
        if renamed is not None:
            found.renamed.append((number, renamed["new"], renamed["old"]))
            shape = code.partition("reinterpret_tensor(")[2].partition(", ")[2].partition("; del")[0]
            found.allocated[renamed["new"]] = shape or found.allocated.get(renamed["old"], "")
            found.others.append((number, (renamed["new"], renamed["old"])))
            continue
        item = _ITEM.match(code)
        if item is not None:
            found.renamed.append((number, item["new"], item["old"]))
        part = _PART.match(code)
        if part is not None:
            found.parts[part["new"]] = part["old"]
        if code.startswith("return"):
            found.returned = _returned(code)
            found.others.append((number, tuple(name for name in found.returned if name)))
            continue
        call = _kernel_call(number, code, kernels, sources, operators, tuple(above))
        if call is not None:
            found.calls.append(call)
            sources, operators, above = (), (), []
            continue
        names = tuple(dict.fromkeys(name for name in _NAME.findall(code) if name not in _HELPERS))
        assigned = _ASSIGN.match(code)
        if assigned is not None and any(word in assigned["value"] for word in _ALLOCATES):
            found.allocated[assigned["name"]] = assigned["value"].partition("(")[2].rstrip(")")
        if names:
            found.others.append((number, names))
    if indent >= 0:
        found.spans.append((start, len(lines)))
    return found


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _returned(code: str) -> tuple[str, ...]:
    inside = code.removeprefix("return").strip()
    if inside.startswith("("):
        inside = inside[1:].rpartition(")")[0]
    names = []
    for part in arguments_of(inside):
        view = _VIEW_OF.search(part)
        name = view[1] if view is not None else part.strip()
        if name == "None" or name.lstrip("-").isdigit():
            continue
        names.append(name if name.isidentifier() and name not in _HELPERS else "")
    return tuple(names)


def arguments_of(inside: str) -> list[str]:
    """``a, f(b, c), d`` -> the parts between the outer commas."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(inside):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(inside[start:at])
            start = at + 1
    if inside[start:].strip():
        parts.append(inside[start:])
    return parts


def _kernel_call(
    number: int,
    code: str,
    kernels: frozenset[str],
    sources: tuple[str, ...],
    operators: tuple[str, ...],
    above: tuple[int, ...],
) -> KernelCall | None:
    """The call that a statement makes; None for a statement that computes nothing."""
    assigned = _ASSIGN.match(code)
    value = assigned["value"] if assigned is not None else code
    match = _CALL.search(value)
    if match is None:
        return None
    callee = match["callee"]
    kernel = next(
        (name for name in (callee, callee.partition(".")[0], callee.rpartition("::")[2]) if name in kernels), ""
    )
    if not kernel:
        if any(
            callee.startswith(word) or value.startswith(word)
            for word in (*_ALLOCATES, *_CHECKS, "reinterpret_tensor", "RAIIAtenTensorHandle")
        ):
            return None
        if not (callee.startswith((
            "extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.", "aoti_torch_", "fallback", "at::",
        )) or sources):  # fmt: skip
            return None
        if callee.startswith("aoti_torch_") and not sources:
            return None
    inside = value[match.end() :].rpartition(")")[0]
    arguments: list[str] = []
    written = [assigned["name"]] if assigned is not None else []
    for part in arguments_of(inside):
        word = part.strip()
        keyword = re.match(r"^(\w+)=(.*)$", word)
        names = [name for name in _NAME.findall(keyword[2] if keyword is not None else word) if name not in _HELPERS]
        if keyword is not None and keyword[1] in ("out", "out0", "out1", "out2"):
            written += names
        elif word.startswith("&"):
            written += names
        arguments.append(names[0] if names else "")
    if (
        not written
        and not kernel
        and arguments
        and (callee.startswith("aoti_torch_") or any(part.endswith("_") for part in callee.split(".")))
    ):
        written = [name for name in arguments[:1] if name]
    return KernelCall(number, kernel, callee, tuple(arguments), tuple(written), sources, operators, above)
