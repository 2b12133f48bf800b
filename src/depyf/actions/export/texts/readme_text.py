"""``README.md`` of a package: what is in it, how it is used, what it does not have.

Input: a function of a dump and what became of its guards.  Output: Markdown; nothing of the dump is markup in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from depyf.actions.export.dumped_function import CompiledFunction
from depyf.actions.export.texts.functions_text import CodeNames
from depyf.actions.export.texts.hook_list import Hooks
from depyf.actions.export.values.guard_sorting import FROZEN, KEPT, SortedGuard
from depyf.views.pages.markdown import code, plain

_SHOWN = 12
"""Frozen guards that are listed; the rest is counted."""


def readme_text(
    function: CompiledFunction,
    package: str,
    names: CodeNames,
    guards: Mapping[str, Sequence[SortedGuard]],
    hooks: Hooks,
    models: Mapping[str, str],
    notes: Sequence[str],
    kernels: bool,
) -> str:
    """The whole page.  ``models``: how a model of the package is made -> its method."""
    root = names.codes[function.codes[0].name]
    lines = [
        f"# {plain(package)}",
        "",
        f"What `torch.compile` made of {code(function.qualname)} ({plain(function.place)}), "
        "as Python that runs without it. "
        f"It was compiled by torch {plain(function.torch.partition('+')[0])} and taken from a dump by `depyf export`.",
        "",
        "```python",
        f"import {package}",
        "",
    ]
    if models:
        lines += [f"model = {package}.load(state_dict)", "model(...)"]
    else:
        lines += [f"{package}.{root}(...)"]
    lines += [
        "```",
        "",
        f"`python -m {package}` makes the calls that were recorded and compares each with eager mode.",
        "",
    ]
    lines += _files(function, bool(models), kernels)
    lines += _entries(function, names, guards)
    lines += _hooks(hooks, package)
    lines += _frozen(guards)
    if notes:
        lines += ["## Notes", "", *(f"- {plain(note)}" for note in notes), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _files(function: CompiledFunction, model: bool, kernels: bool) -> list[str]:
    rows = [
        ("functions.py", "the function, its resume functions, and the compiled code of each"),
        ("guards.py", "when each compiled entry may run"),
        ("graphs/", f"the {len(function.graphs)} graphs, one a file"),
        *([("kernels/", "Inductor's code for graphs, each kernel a file")] if kernels else []),
        ("hooks.py", "what could not leave the process that compiled"),
        *([("model.py", "the modules that are read: names of parameters as in a `state_dict`")] if model else []),
        ("calls.py", "calls like those that were compiled"),
        ("original.py", "the program's own code, which `python -m` compares with"),
        ("checks.py, runtime.py, check.py", "what guards call; cells, tensors, errors; the comparison"),
    ]
    return ["| file | holds |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in rows), ""]


def _entries(function: CompiledFunction, names: CodeNames, guards: Mapping[str, Sequence[SortedGuard]]) -> list[str]:
    lines = ["| compile id | code | guards asked | graphs |", "|---|---|---|---|"]
    for entry in function.entries:
        asked = sum(guard.fate != FROZEN for guard in guards[entry.name])
        graphs = ", ".join(f"`graph{name.removeprefix('__compiled_fn')}`" for name in entry.graphs)
        lines.append(f"| {plain(entry.compile_id)} | `{names.entries[entry.name]}` | {asked} | {graphs} |")
    return [
        *lines,
        "",
        "Arguments that fit no entry are an error that names the first guard of each entry that fails.",
        "",
    ]


def _hooks(hooks: Hooks, package: str) -> list[str]:
    if not hooks.wanted:
        return []
    lines = ["## To fill in", "", "These could not leave the process that compiled:", ""]
    lines += [f"- `{package}.hooks.{name}`: {code(about)}" for name, about in sorted(hooks.wanted.items())]
    lines += [
        "",
        (
            "What is not filled in is an error where it is needed. `python -m` fills in what was recorded, and takes "
            f"the rest from a Python file: `python -m {package} --hooks FILE`."
        ),
        "",
    ]
    return lines


def _frozen(guards: Mapping[str, Sequence[SortedGuard]]) -> list[str]:
    found = list(dict.fromkeys(g.original for every in guards.values() for g in every if g.fate == FROZEN))
    if not found:
        return []
    kept = sum(g.fate == KEPT for every in guards.values() for g in every)
    said = (
        f"Beside the {kept} guards in `guards.py`, the process that compiled asked whether code and globals were still "
        "the same (the package holds them as they were), and for modes of torch (here none is expected):"
    )
    lines = ["## Not asked", "", said, ""]
    lines += [f"- {code(text if len(text) < 160 else text[:157] + '...')}" for text in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"- and {len(found) - _SHOWN} more")
    return [*lines, ""]
