"""``functions.py`` of a package: the function, its resume functions, and for each the compiled code that the guards
choose.

Input: a function of a dump, its code rewritten.  Output: the text of the module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from depyf.actions.export.dumped_function import CompiledFunction, DumpedCode
from depyf.actions.export.texts.transformed_text import Rewritten
from depyf.decompiler.emit.comments import comment, in_docstring, remark
from depyf.safety.escape import printable
from depyf.views.pages.wrap import split_call, wrap

_RESUME = re.compile(r"(?:torch_dynamo_)?(resume_in_\w+?_at_\d+)")


@dataclass(frozen=True, slots=True)
class CodeNames:
    """Code on the page of the dump -> its name in the package; entry -> its name there."""

    codes: dict[str, str]
    entries: dict[str, str]

    def for_transformed(self, function: CompiledFunction) -> dict[str, str]:
        """Everything that transformed code may call, by the name it has in the dump."""
        names = {alias: self.codes[code.name] for code in function.codes for alias in (code.name, *code.aliases)}
        names.pop(function.codes[0].name, None)  # a recursive call is one of the user's
        graphs = {called: graph_module(called) for called in function.graphs}
        return {**names, **graphs}


def graph_module(called: str) -> str:
    """``graph_0_0`` for ``__compiled_fn_0_0``."""
    return "graph" + called.removeprefix("__compiled_fn")


def code_names(function: CompiledFunction) -> CodeNames:
    """Names for all codes of ``function``: its own, and ``resume_in_f_at_31``."""
    codes: dict[str, str] = {}
    entries: dict[str, str] = {}
    for code in function.codes:
        name = function.slug
        if code is not function.codes[0]:
            found = _RESUME.search(code.entries[0].name if code.entries else code.name)
            name = found[1] if found is not None else code.name.lstrip("_")
        count = 1
        base = name
        while name in codes.values():
            count += 1
            name = f"{base}_{count}"
        codes[code.name] = name
        entries |= {entry.name: f"{name}_{entry.slug}" for entry in code.entries}
    return CodeNames(codes, entries)


def functions_text(
    function: CompiledFunction,
    names: CodeNames,
    rewritten: Mapping[str, Rewritten],
    free: Mapping[str, tuple[str, ...]],
) -> str:
    """The text of the module with the package's functions.  ``free``: the free variables of each code object."""
    every = [rewritten[entry.name] for entry in function.entries]
    parts = [_head(function, names), _imports(every, any(free.values()))]
    for code in function.codes:
        parts.append(_dispatcher(function, code, names, free.get(code.name, ())))
        parts += [
            "\n".join([comment(f"Compile id {printable(entry.compile_id)}."), rewritten[entry.name].text])
            for entry in code.entries
        ]
    return "\n\n\n".join(parts) + "\n"


def _head(function: CompiledFunction, names: CodeNames) -> str:
    lines = [f"``{function.qualname}`` ({function.place}) as torch.compile made it."]
    lines += ["", f"Read it from {names.codes[function.codes[0].name]}() down: the first entry whose guards hold runs."]
    rest = [names.codes[code.name] for code in function.codes[1:]]
    if rest:
        lines += ["After a graph break it goes on in another function:", *(f"  {name}" for name in rest)]
    text = in_docstring("\n".join(map(printable, lines)))
    return f'"""{text}\n"""'


def _imports(every: list[Rewritten], shared: bool) -> str:
    modules = sorted({module for one in every for module in one.imports})
    graphs = sorted({graph_module(name) for one in every for name in one.graphs})
    helpers = sorted({name for one in every for name in one.helpers})
    lines = [f"import {module}" for module in modules]
    lines += [""] if lines else []
    text = "\n".join(one.text for one in every)
    own = [
        "guards",
        *(["hooks"] if shared or "hooks." in text else []),
        *(["original"] if "original." in text else []),
        *(["runtime"] if any(one.shadowed for one in every) else []),
    ]
    lines.append(f"from . import {', '.join(own)}")
    lines += ["from . import hooks as package_hooks"] if "package_hooks." in text else []
    lines += [f"from .graphs.{name} import {name}" for name in graphs]
    called = ["no_entry", *helpers, *(["contents", "over", "variables"] if shared else [])]
    lines += wrap("from .runtime import (", sorted(called), ")") if len(called) > 8 else [
        f"from .runtime import {', '.join(sorted(called))}"
    ]  # fmt: skip
    return "\n".join(lines)


def _dispatcher(function: CompiledFunction, code: DumpedCode, names: CodeNames, free: tuple[str, ...]) -> str:
    name = names.codes[code.name]
    root = code is function.codes[0]
    signature = ast.unparse(code.signature)
    parameters = _split(signature)
    given = [f"{key!r}: {value}" for key, value in zip(code.locals, code.given)]
    call = _split(code.call)
    indent = "    " if not free else "        "
    opened = name if not free or root else "resume"
    body = wrap("L = {", given, "}", indent)
    if free:
        body.append(f"{indent}L.update(contents({free!r}, cells))")
    for entry in code.entries:
        chosen = names.entries[entry.name]
        body.append(f"{indent}if guards.guards_{entry.slug}(L):")
        called = f"over(make_{chosen}, cells)(" if free else f"{chosen}("
        body += wrap(f"return {called}", call, ")", indent + "    ")
    tried = [f"guards.guards_{entry.slug}" for entry in code.entries]
    body += wrap("raise no_entry(", [repr(name), "L", *tried], ")", indent)
    if not free:
        return "\n".join([*wrap(f"def {opened}(", parameters, "):"), *body])
    if root:
        cells = remark(f"    cells = variables(hooks, {free!r})", "the free variables, which calls share")
        return "\n".join([*wrap(f"def {opened}(", parameters, "):"), cells, *(line[4:] for line in body)])
    head = [f"def {name}(cells):", f'    """A function over the cells of {", ".join(free)}."""', ""]
    return "\n".join([*head, *wrap(f"def {opened}(", parameters, "):", "    "), *body, "", f"    return {opened}"])


def _split(arguments: str) -> list[str]:
    """``a, b=(1, 2)`` at its outer commas."""
    return (split_call(f"f({arguments})") or ("", []))[1]
