"""The kernels in a generated wrapper, each as a separate file.

Input: the text of a wrapper that Inductor wrote.  Output: C++ and Triton sources by kernel name, in the order of the
wrapper, with the comments that stand above each.  Nothing is executed: the text is parsed.  With ``cpp_wrapper`` one
string holds the kernels and the C++ that calls them, which is a separate file, too.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from depyf.decompiler.emit.comments import comment
from depyf.safety.unheard import parse

_LANGUAGES = {
    "cpp": ("cpp", "//"),
    "cpp_pybinding": ("cpp", "//"),
    "cuda": ("cu", "//"),
    "triton": ("py", "#"),
    "metal": ("metal", "//"),
    "halide": ("py", "#"),
}
"""Method of ``AsyncCompile`` -> how the file ends, and how a comment begins."""


CALLS_IN_CPP = ".cpp_wrapper.cpp"
"""How the file ends that holds the C++ that calls kernels, but no kernel."""
_CPP_WRAPPER = "cpp_wrapper_src"
_CPP_KERNEL = re.compile(
    r"^(?:#include [^\n]*\n)*extern \"C\"\s+void\s+(?P<name>\w+)\([^;{]*\)\s*\{.*?^\}\n", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its name in the wrapper, the ending of its file, and the whole text of that file."""

    name: str
    suffix: str
    text: str
    called_at: int = 0
    """The first line of the wrapper that calls it; 0 where none does."""


def kernels_in(wrapper: str, wrapper_file: str) -> tuple[Kernel, ...]:
    """The kernels that the module ``wrapper`` compiles; () for text that is not Python."""
    if "async_compile." not in wrapper and _CPP_WRAPPER not in wrapper:
        return ()
    try:
        tree = parse(wrapper)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    lines = wrapper.split("\n")
    found: list[Kernel] = []
    for statement in tree.body:
        call = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(call, ast.Constant) and isinstance(statement, ast.Assign):
            found += _in_cpp_wrapper(statement, call.value, wrapper_file)
        if not isinstance(call, ast.Call) or not isinstance(statement, ast.Assign):
            continue
        target, function = statement.targets[0], call.func
        if (
            not isinstance(function, ast.Attribute)
            or not isinstance(target, ast.Name)
            or function.attr not in _LANGUAGES
        ):
            continue
        if not isinstance(function.value, ast.Name) or function.value.id != "async_compile":
            continue
        strings = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        source = max(strings, key=len, default="")
        if "\n" not in source:
            continue
        suffix, mark = _LANGUAGES[function.attr]
        notes = [f"Kernel {target.id}, called in {wrapper_file}."]
        notes += [line.lstrip("# ") for line in _above(lines, statement.lineno)]
        head = [mark + comment(line)[1:] for line in notes]
        text = "\n".join(head) + "\n" + source.strip("\n") + "\n"
        found.append(Kernel(target.id, suffix, text, statement.end_lineno or statement.lineno))
    return _with_calls(found, lines)


def _with_calls(kernels: list[Kernel], lines: list[str]) -> tuple[Kernel, ...]:
    """With the lines of their calls, which stand below the definitions of all of them: ``fused_0(...)`` for C++,
    ``fused_0.run(...)`` for others.  ``called_at`` is the last line of the definition so far."""
    names = {kernel.name for kernel in kernels}
    calls: dict[str, int] = {}
    start = max((kernel.called_at for kernel in kernels), default=len(lines))
    for number, line in enumerate(lines[start:], start + 1):
        called = line.lstrip().partition("(")[0].removesuffix(".run")
        if called in names:
            calls.setdefault(called, number)
    return tuple(replace(kernel, called_at=calls.get(kernel.name, 0)) for kernel in kernels)


def kernel_nodes(tree: ast.Module) -> dict[str, ast.Constant]:
    """Name of a kernel -> the literal in the tree of a wrapper that has its source; not of those in one string of
    C++."""
    found: dict[str, ast.Constant] = {}
    for statement in tree.body:
        call = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(statement, ast.Assign):
            continue
        target, function = statement.targets[0], call.func
        if isinstance(function, ast.Attribute) and isinstance(target, ast.Name) and function.attr in _LANGUAGES:
            strings = [a for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            source = max(strings, key=lambda a: len(str(a.value)), default=None)
            if source is not None and "\n" in str(source.value):
                found[target.id] = source
    return found


def kernel_strings(wrapper: str) -> dict[str, str]:
    """Name of a kernel -> its source in the text of a wrapper; {} for text that is not Python."""
    try:
        return {name: str(node.value) for name, node in kernel_nodes(parse(wrapper)).items()}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _in_cpp_wrapper(statement: ast.Assign, source: object, wrapper_file: str) -> list[Kernel]:
    """The C++ of a wrapper in C++, if that is what ``statement`` assigns: its kernels, and the rest, which calls
    them."""
    target = statement.targets[0]
    if not (isinstance(target, ast.Name) and target.id == _CPP_WRAPPER and isinstance(source, str)):
        return []
    kernels = [
        Kernel(found["name"], "cpp", f"// Kernel {found['name']}, called in {wrapper_file}.\n{found[0].strip()}\n")
        for found in _CPP_KERNEL.finditer(source)
    ]
    calls = _CPP_KERNEL.sub("", source).strip("\n")
    return [*kernels, Kernel("cpp_wrapper", "cpp", f"// What {wrapper_file} compiles, without its kernels.\n{calls}\n")]


def _above(lines: list[str], lineno: int) -> list[str]:
    """The comment lines directly above a line, blank lines skipped."""
    at = lineno - 2
    while at >= 0 and not lines[at].strip():
        at -= 1
    end = at + 1
    while at >= 0 and lines[at].startswith("#"):
        at -= 1
    return lines[at + 1 : end]
