"""The pages of an opened file, as text: what is in it, its guards, and what only loading it would tell.

Input: the parts of the file and what its code was decompiled to.  Output: the text of each page, by its file name.
"""

from __future__ import annotations

from collections.abc import Sequence

from depyf.actions.opened.file_guards import in_words
from depyf.actions.opened.opened_code import OpenedCode
from depyf.run.global_names import without_changing_parts
from depyf.run.guards.program_words import in_program
from depyf.safety.escape import file_name, printable
from depyf.sources.files.inert_text import cut
from depyf.sources.files.saved_parts import DRIVER, SavedGuard, SavedParts, SavedText

INDEX, GUARDS, CONTENTS, LOADING = "index.md", "guards.txt", "contents.txt", "loading.txt"
_MOST_NAMES = 5000
_CPP = ("#include", "// ", "/*")
_PYTHON = ("source_code", "content", "_code", "graph_str")
_TITLES = {
    "source_code": "what Inductor wrote",
    "runnable_graph_str": "the graph as a script of torch's",
    "inductor_post_grad_graph_str": "the graph after Inductor's passes",
    "aot_joint_graph_str": "the joint graph",
    "aot_forward_graph_str": "the forward graph",
    "aot_backward_graph_str": "the backward graph",
    "content": "a source file of the program",
    "_fx_graph_cache_debug_lines": "what torch's cache knows the graph by",
    "_code": "the graph's code",
    "graph_code": "the code of the graph, with what AOTAutograd puts around it",
    "wrapper_cpp": "the C++ that AOTInductor wrote around its kernels",
    "kernel_cpp": "the C++ of AOTInductor's kernels",
    "driver_code": "what a call does: checks, then the graph",
}
_FACTS = {
    "backend_name": "backend",
    "function": "function",
    "serving": "served",
    "backend_id": "its graph is called",
    "device_type": "device",
    "python_version": "Python",
    "torch_version": "torch",
    "triton_version": "Triton",
    "toolkit_version": "toolkit",
    "gpu_name": "GPU",
}
_OF_TENSOR = "the tensor's type, dtype, device, sizes and strides"
_UNSEEN = {
    "TENSOR_MATCH": f"{_OF_TENSOR}; the example of the call is under inputs",
    "GRAD_MODE": "whether gradients are on",
    "DETERMINISTIC_ALGORITHMS": "whether algorithms must be deterministic",
    "GLOBAL_STATE": "torch's global settings, such as autocast and the default dtype",
    "TORCH_FUNCTION_STATE": "torch function modes",
}
"""What guards check of which torch keeps no text."""
_MOST_CHECKS = 40
"""So many are in the index."""


_UNTOLD = "what the objects are that it makes, and the check of each guard as it is asked"


class FileNames:
    """Gives each page a file name that no other one has, on any file system."""

    def __init__(self) -> None:
        self._taken = {INDEX, GUARDS, CONTENTS, LOADING}
        self._next: dict[str, int] = {}

    def free(self, base: str, suffix: str) -> str:
        base = file_name(without_changing_parts(base))
        name, start = f"{base}{suffix}", f"{base}{suffix}".lower()
        number = self._next.get(start, 1)
        while name.lower() in self._taken:
            name, number = f"{base}.{number}{suffix}", number + 1
        self._next[start] = number
        self._taken.add(name.lower())
        return name


def text_files(texts: list[SavedText], names: FileNames) -> dict[str, SavedText]:
    """A file name for each text; those that say the same share one."""
    known = {one.text: one for one in reversed(texts)}
    return {names.free(one.place or one.key, _suffix(one)): one for one in texts if known[one.text] is one}


def _suffix(one: SavedText) -> str:
    start = one.text.lstrip()
    if start.startswith(_CPP) or one.key.endswith("_cpp"):
        return ".cpp"
    if start.startswith("{"):
        return ".json"
    return ".py" if one.key.endswith(_PYTHON) else ".txt"


def index_page(
    source: str,
    size: int,
    parts: SavedParts,
    codes: dict[str, OpenedCode],
    texts: dict[str, SavedText],
    notes: list[str],
    left_out: list[str],
) -> str:
    """``left_out``: the sections on guards that the file does not have."""
    lines = [
        f"# {printable(source)}",
        "",
        f"It is {parts.kind}, in {size} bytes. Nothing of it was executed or loaded.",
        "",
    ]
    lines += [f"- {_FACTS.get(key, printable(cut(key)))}: {coded(value)}" for key, value in parts.facts.items()]
    lines += [f"- signature: {coded(text)}" for text in parts.signatures]
    lines += [f"- input {coded(name)}: {coded(one.text)}" for name, one in parts.inputs.items()]
    lines += [f"- whoever loads it must bring {coded(name)}" for name in list(parts.external)[:_MOST_NAMES]]
    if codes:
        lines += ["", "## Code", "", "| file | where it lies | function | proof |", "|---|---|---|---|"]
        for name, one in codes.items():
            file = f"[{name}]({name})" if one.text else "no text"
            lines.append(f"| {file} | {coded(one.place)} | {coded(one.name)} | {in_cell(one.status)} |")
    if parts.guards:
        lines += ["", "## Guards", "", f"[{GUARDS}]({GUARDS}): {_guard_count(parts.guards)}.", ""]
        lines += _guard_list(parts.guards)
    lines += left_out
    if texts:
        lines += ["", "## Graphs and sources", "", "| file | what it is | lines |", "|---|---|---|"]
        for name, text in texts.items():
            key = next((part for part in reversed(text.place.split(".")) if not part.isdecimal()), text.key)
            title = _TITLES.get(key, coded(key))
            lines.append(f"| [{name}]({name}) | {title} | {text.text.count(chr(10)) + 1} |")
    lines += ["", "## The rest", "", f"- [{CONTENTS}]({CONTENTS}): all that the file says, object by object."]
    lines.append(f"- [{LOADING}]({LOADING}): what loading it would import and call.")
    if parts.is_function or parts.is_program:
        lines.append(f"- Only loading tells {_UNTOLD}: `depyf open --load` does that. It executes the file.")
    lines += [f"- {printable(note)}" for note in notes]
    return "\n".join(lines) + "\n"


def _guard_count(guards: Sequence[SavedGuard]) -> str:
    places = len({guard.place for guard in guards if guard.place})
    return _count(len(guards), "guard") + (
        f" of {places} compilations, each of which asks its own" if places > 1 else ""
    )


def _guard_list(guards: Sequence[SavedGuard]) -> list[str]:
    """What the guards check of the program, each once, and how many check something else."""
    told = [_few_checks(guard) for guard in guards]
    checks = list(dict.fromkeys(text for few in told for text in few))
    shown = dict.fromkeys(in_words(kind, check) if kind else check for kind, check in checks[:_MOST_CHECKS])
    lines = [f"- {coded(check)}" for check in shown]
    lines += [f"- and {len(checks) - _MOST_CHECKS} more checks"] if len(checks) > _MOST_CHECKS else []
    rest = sum(not few for few in told)
    return [*lines, f"- and {_count(rest, 'guard')} on torch's own state, or without a text"] if rest else lines


def _few_checks(guard: SavedGuard) -> list[tuple[str, str]]:
    """What the index says of a guard: the kind and the text of checks, "" in the place of a kind for words."""
    if guard.kind == DRIVER:
        return [("", f"{guard.subject}: {', '.join(guard.checks)}")]
    own = [(guard.kind, check) for check in guard.checks[:3] if _telling(check)]
    return [*own, ("", f"{in_program(guard.subject)}: {_OF_TENSOR}")] if guard.kind == "TENSOR_MATCH" else own


def _telling(check: str) -> bool:
    """Whether it says something of the program, and not of marks that torch puts on tensors."""
    return "_dynamo_" not in check and "torch._functorch" not in check and "CURRENT_DEVICE" not in check


def guards_page(parts: SavedParts) -> str:
    lines = ["What is checked before the compiled code runs, as torch wrote it down.", ""]
    places: dict[str, list[SavedGuard]] = {}
    for guard in parts.guards:
        places.setdefault(guard.place, []).append(guard)
    for place, guards in places.items():
        if len(places) > 1:
            lines += [f"== {printable(place) or 'of the whole file'}", ""]
        for guard in guards:
            lines += [*_guard_lines(guard), ""]
    if parts.inputs:
        lines += ["The inputs that the guards were made from:"]
        lines += [f"    {printable(name)}: {printable(one.text)}" for name, one in parts.inputs.items()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _guard_lines(guard: SavedGuard) -> list[str]:
    subject = f" of {guard.subject}" if guard.subject else ""
    lines = [printable(guard.subject if guard.kind == DRIVER else f"{guard.kind}{subject}")]
    if guard.line:
        lines.append(f"    needed by {printable(guard.line)}")
    lines += [f"    {printable(check)}" for check in guard.checks]
    if guard.kind in _UNSEEN:
        lines.append(f"    checks {_UNSEEN[guard.kind]}")
    elif not guard.checks:
        lines.append("    its check has no text: only loading the file makes it")
    return lines


def loading_page(parts: SavedParts) -> str:
    lines = ["Loading this file runs it as a Python module, and what driver_code.py calls."] if parts.is_program else []
    lines += [
        "Loading this file executes it: these are imported, and those with a number in front are called so often.",
        "What they would give, such as callables, tensors and the check of each guard, is not known without that.",
        "",
    ]
    lines += [f"{count:6} {printable(name)}" for name, count in parts.called.most_common(_MOST_NAMES)]
    others = sorted(parts.imported.keys() - parts.called.keys())
    lines += [f"       {printable(name)}" for name in others[:_MOST_NAMES]]
    left = max(0, len(parts.called) - _MOST_NAMES) + max(0, len(others) - _MOST_NAMES)
    if left:
        lines.append(f"       and {left} more")
    return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def coded(text: str) -> str:
    """``text`` as a Markdown code span that is safe in a table cell."""
    shown = printable(text).replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`" if shown else ""


def in_cell(text: str) -> str:
    return printable(text).replace("|", "\\|")
