"""A dump -> the folder of a package, written file by file.

Output invariant: everything is made before the first file is written, each file is written whole and below the folder,
no link in it is followed; the same dump gives the same bytes.
"""

from __future__ import annotations

import ast
import keyword
import os
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from depyf.actions.export.dumped_function import CompiledFunction, DumpedEntry, DumpedGraph, ExportError, read_function
from depyf.actions.export.package_writer import MARK, write_files
from depyf.actions.export.texts.calls_text import RecordedCall, calls_text, model_text
from depyf.actions.export.texts.functions_text import CodeNames, code_names, functions_text, graph_module
from depyf.actions.export.texts.graph_module import graph_text
from depyf.actions.export.texts.guards_text import called_in, guards_text
from depyf.actions.export.texts.hook_list import Hooks, hooks_text
from depyf.actions.export.texts.kernel_files import caller_text, kernel_files, why_not
from depyf.actions.export.texts.original_text import names_in_source, original_text
from depyf.actions.export.texts.quotes import double_quoted
from depyf.actions.export.texts.readme_text import readme_text
from depyf.actions.export.texts.transformed_text import Rewritten, rewrite
from depyf.actions.export.values.followed_variables import followed
from depyf.actions.export.values.guard_sorting import HOOKED, KEPT, SortedGuard, sort_guard
from depyf.actions.export.values.guarded_values import GuardedValues, place
from depyf.actions.export.values.made_values import Maker, Model
from depyf.actions.scripts.carried_text import CHECKS, checks_text, definitions, package_file
from depyf.actions.scripts.fill import Value, fill
from depyf.actions.scripts.graph_parts import tolerance_of
from depyf.actions.scripts.input_table import CannotRender
from depyf.decompiler.emit.comments import in_docstring
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.files.reading import DumpError
from depyf.run.graphs.graph_text import read_graph
from depyf.run.guards.guarded_path import Path as ValuePath
from depyf.run.guards.guarded_path import path_of, variable_of
from depyf.run.guards.kinds.object_guard import object_wanted
from depyf.run.guards.known_kinds import surroundings
from depyf.run.recorded.recorded_inputs import file_of
from depyf.safety.escape import printable
from depyf.safety.unheard import parse

_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)


@dataclass(slots=True)
class Package:
    """The files of a package by name, and notes for its user."""

    name: str
    function: str
    files: dict[str, str] = field(default_factory=dict)
    data: dict[str, list[memoryview]] = field(default_factory=dict)
    """Files of tensors."""
    wanted: tuple[str, ...] = ()
    """The hooks that are to be filled in."""
    notes: list[str] = field(default_factory=list)


def export_package(
    folder: str | os.PathLike[str], out: str | os.PathLike[str], function: str = "", kernels: bool = False
) -> Package:
    """Write the package of ``function`` in the dump ``folder`` to the folder ``out``, whose name is that of the
    package.

    ``kernels``: graphs run as the code that Inductor wrote for them, where it can be called alone.

    ExportError where there is no such function, or the package cannot be written.
    """
    target = Path(out)
    name = target.name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ExportError(f"{printable(name)!r} is no name of a package: letters, digits and _ make one")
    try:
        package = make_package(read_function(Path(folder), function), name, kernels)
    except (DumpError, CannotRender) as error:
        raise ExportError(str(error)) from error
    except _ERRORS as error:
        raise ExportError(
            f"{printable(str(folder))}: a file is not what depyf wrote: {printable(str(error))}"
        ) from error
    write_files(target, {**package.files, **package.data})
    return package


def make_package(function: CompiledFunction, name: str, kernels: bool = False) -> Package:
    """The package of ``function``, not yet written.  ``kernels``: graphs run Inductor's generated code where that can
    be called alone."""
    return _Making(function, name, kernels).package()


class _Making:
    """The steps from a function to its files."""

    def __init__(self, function: CompiledFunction, name: str, kernels: bool) -> None:
        self.kernels = kernels
        self.function, self.hooks = function, Hooks()
        self.done = Package(name, function.qualname)
        self.names: CodeNames = code_names(function)
        self.modules = {**names_in_source(function), **_modules(function)}
        self.tensors = _global_tensors(function)
        self.guards: dict[str, tuple[SortedGuard, ...]] = {
            entry.name: tuple(sort_guard(g, entry.slug, i, self.tensors) for i, g in enumerate(entry.guards))
            for entry in function.entries
        }
        called = self.names.for_transformed(function)
        self.rewritten: dict[str, Rewritten] = {
            entry.name: rewrite(
                entry.source, self.names.entries[entry.name], called, self.modules, entry.lines, entry.definitions
            )
            for entry in function.entries
        }
        self.free = {
            code.name: next((self.rewritten[e.name].free for e in code.entries if self.rewritten[e.name].free), ())
            for code in function.codes
        }

    def package(self) -> Package:
        files, function = self.done.files, self.function
        calls = self._calls()
        self._want_hooks(calls[0].values)
        files["functions.py"] = functions_text(function, self.names, self.rewritten, self.free)
        self._graphs()
        self._recorded()
        files["guards.py"] = guards_text(function, self.names, self.guards, frozenset(definitions(*CHECKS)))
        files["checks.py"] = checks_text(called_in(files["guards.py"]))
        files["runtime.py"], files["check.py"] = package_file("package_runtime"), package_file("package_check")
        root = function.codes[0]
        tensors = sorted(self.tensors)
        files["calls.py"], models = calls_text(root, calls, self.hooks, self.free[root.name], tensors)
        roots = self._roots(models)
        if models:
            files["model.py"] = model_text(models, roots, calls[0].values)
        kinds = {kind for model in models.values() for kind in model.kinds.values()} | _things(files)
        kinds = {kind for kind in kinds if "." in kind and not kind.startswith(("torch.", "collections."))}
        offered = {**self.hooks.wanted, **{name: text for name, (text, _) in self.hooks.known.items()}}
        files["original.py"] = original_text(
            function, kinds, offered, self.free[root.name], _members(files["functions.py"], "original")
        )
        files["hooks.py"] = hooks_text(self.hooks, self.done.name, function.qualname)
        files["__init__.py"] = self._init(roots)
        files["__main__.py"] = self._main()
        files["README.md"] = readme_text(
            function,
            self.done.name,
            self.names,
            self.guards,
            self.hooks,
            roots,
            self.done.notes,
            "kernels/__init__.py" in files,
        )
        self.done.wanted = tuple(sorted(self.hooks.wanted))
        for file, text in files.items():
            if file.endswith(".py") and not file.startswith("kernels/"):
                files[file] = double_quoted(text)
                parse(files[file])
        return self.done

    def _want_hooks(self, values: GuardedValues) -> None:
        """What transformed code and guards take from the process: with its value where the guards know it."""
        for entry in self.function.entries:
            for guard in self.guards[entry.name]:
                if guard.fate == HOOKED:
                    self.hooks.want(guard.hook, guard.about)
            for name, about in self.rewritten[entry.name].hooks.items():
                self._offer(name, ValuePath("G", name), about, values)
        for name in sorted(self.tensors):
            self._offer(name, ValuePath("G", name), f"the global {name} of the program", values)
        for name in self.free[self.function.codes[0].name]:
            if self._is_read(name):
                self._offer(name, ValuePath("L", name), f"the free variable {name}", values)

    def _is_read(self, name: str) -> bool:
        """Whether transformed code or a guard that is asked looks into the cell of a free variable."""
        asked = [g.expression for entry in self.function.entries for g in self.guards[entry.name]]
        if any(f"L[{name!r}]" in text for text in asked):
            return True
        return any(
            isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            for entry in self.function.entries
            for node in ast.walk(parse(entry.source))
        )

    def _offer(self, name: str, path: ValuePath, about: str, values: GuardedValues) -> None:
        known = values.find(path)
        text = Maker(Hooks()).value(known, path) if known is not None and known.tensor is None else ""
        if text and text != "None" and "(" not in text and "hooks." not in text and "inputs" not in text:
            self.hooks.know(name, text, about)
        elif known is not None and known.tensor is not None:
            size = ", ".join(map(str, known.tensor.get("size", ())))
            self.hooks.want(name, f"{about}: a tensor, {known.tensor.get('dtype', '')}[{size}]")
        else:
            self.hooks.want(name, about)

    def _calls(self) -> list[RecordedCall]:
        """One call for each entry of the function, in the order in which they were compiled."""
        root = self.function.codes[0]
        renamed = followed(self.function, self.free)
        calls = []
        for number, entry in enumerate(_by_age(root.entries)):
            values, graphs = GuardedValues(), []
            for code in self.function.codes:
                if code.name not in renamed or not code.entries:
                    continue
                ordered = _by_age(code.entries)
                chosen = ordered[min(number, len(ordered) - 1)]
                names = None if code is root else renamed[code.name]
                for guard in self.guards[chosen.name]:
                    told = guard.expression if guard.fate == KEPT else guard.original
                    values.read_guard(told, names, guard.hook)
                for called in chosen.graphs:
                    graphs.append(graph_module(called))
                    for item in self.function.graphs[called].known(CAPTURED).inputs:
                        values.read_input(graph_module(called), item, names)
            calls.append(RecordedCall(entry, self.names.entries[entry.name], tuple(graphs), values, _state(entry)))
        return calls

    def _graphs(self) -> None:
        files = self.done.files
        files["graphs/__init__.py"] = '"""The graphs, one a file: what each compiled entry computes."""\n'
        for called, graph in self.function.graphs.items():
            name = graph_module(called)
            compile_id = graph.graph.compile_id
            title = f"The graph of {self.function.qualname}, compile id {compile_id}, as Dynamo captured it."
            try:
                kept = (
                    frozenset(c.name for c in graph.recorded.constants if c.tensor) if graph.recorded else frozenset()
                )
                text, hooks = graph_text(graph.page(CAPTURED), name, title, graph.known(CAPTURED), kept)
            except KeyError:
                raise ExportError(f"the dump has no captured graph for {called}") from None
            except CannotRender as error:
                self.hooks.want(name, f"a function that is the graph {name}: {error}")
                self.done.notes.append(f"{name} cannot be exported: {error}; fill in hooks.{name}.")
                files[f"graphs/{name}.py"] = (
                    f'"""The graph of compile id {printable(compile_id)}: see the README."""\n\n'
                    "from .. import hooks\n\n\n"
                    f"def {name}(*inputs):\n    return hooks.{name}(*inputs)\n"
                )
                continue
            if self.kernels and self._kernels(graph, name):
                continue
            for hook in hooks:
                self.hooks.want(hook, f"a constant of {name} that the dump does not hold")
            files[f"graphs/{name}.py"] = text

    def _kernels(self, graph: DumpedGraph, name: str) -> bool:
        """Whether the wrapper of Inductor runs in the place of the graph; if so, its files are there."""
        captured = read_graph(graph.page(CAPTURED), "")
        inputs = len(captured.parameters) if captured is not None else -1
        why = "Inductor wrote no code for it"
        if graph.wrapper:
            why = why_not(graph.known(FORWARD), inputs, BACKWARD in graph.graph.stages)
        if why:
            self.done.notes.append(f"{name} runs as its captured graph: {why}.")
            return False
        title = in_docstring(printable(f"Inductor's code for the graph of compile id {graph.graph.compile_id}."))
        self.done.files["kernels/__init__.py"] = '"""The code that Inductor wrote, and its kernels."""\n'
        self.done.files |= kernel_files(graph.wrapper, name)
        self.done.files[f"graphs/{name}.py"] = caller_text(name, title)
        note = f"The code in kernels/ is of torch {self.function.torch.partition('+')[0]} and runs with that version."
        if note not in self.done.notes:
            self.done.notes.append(note)
        return True

    def _recorded(self) -> None:
        """The inputs that were recorded, each named after the place in the call that it comes from."""
        renamed = followed(self.function, self.free)
        root = self.function.codes[0]
        for code in self.function.codes:
            names = None if code is root else renamed.get(code.name, {})
            for called in dict.fromkeys(called for entry in code.entries for called in entry.graphs):
                recorded = self.function.graphs[called].recorded
                if recorded is not None:
                    inputs = tuple(replace(item, source=_said(item.source, names)) for item in recorded.inputs)
                    self.done.data[f"recorded/{graph_module(called)}.safetensors"] = file_of(
                        replace(recorded, inputs=inputs)
                    )

    def _roots(self, models: Mapping[str, Model]) -> dict[str, str]:
        """The model whose method the function is -> the method."""
        signature = self.function.codes[0].signature
        first = next(iter([*signature.posonlyargs, *signature.args]), None)
        if first is not None and first.arg in models and "." in self.function.qualname:
            return {first.arg: self.names.codes[self.function.codes[0].name]}
        return {}

    def _init(self, roots: Mapping[str, str]) -> str:
        root = self.names.codes[self.function.codes[0].name]
        values: dict[str, Value] = {
            "FUNCTION": in_docstring(printable(self.function.qualname)),
            "MADE_BY": MARK,
            "MODULES": "hooks, model" if roots else "hooks",
            "ROOT": root,
            "NAMES": f'["{root}", "hooks", "load"]' if roots else f'["{root}", "hooks"]',
            "LOADS": bool(roots),
            "MAKE": f"make_{next(iter(roots), '')}",
        }
        return fill("package_init", values)

    def _main(self) -> str:
        root = self.names.codes[self.function.codes[0].name]
        pages = "\n".join(graph.page(CAPTURED) for graph in self.function.graphs.values())
        return fill("package_main", {"NAME": self.done.name, "ROOT": root, "TOLERANCE": str(tolerance_of(pages))})


def _by_age(entries: Iterable[DumpedEntry]) -> list[DumpedEntry]:
    return sorted(entries, key=lambda entry: [int(part) for part in re.findall(r"\d+", entry.slug)])


def _said(source: str, renamed: Mapping[str, ValuePath] | None) -> str:
    """``self.fc.weight`` for the source of an input; "" where it comes from within the call."""
    try:
        path = place(path_of(parse(source, mode="eval").body), renamed)
    except _ERRORS:
        return ""
    return path.text if path is not None else ""


def _state(entry: DumpedEntry) -> tuple[str, ...]:
    """What the guard on torch's state says that is other than usual, as keywords of ``Call``."""
    found: list[str] = []
    for guard in entry.guards:
        found += surroundings(guard.expression)
    return tuple(dict.fromkeys(found))


def _modules(function: CompiledFunction) -> dict[str, str]:
    """Globals of the program that guards know as modules, or as classes of modules (``module:Class``)."""
    found = {}
    for entry in function.entries:
        for guard in entry.guards:
            if guard.module and (name := variable_of(guard.source, "G")) and _is_dotted(guard.module):
                found[name] = guard.module
            wanted = object_wanted(guard.expression)
            if wanted is None or not (name := variable_of(wanted[0], "G")):
                continue
            module, _, own = wanted[1].rpartition(".")
            if own == name and _is_dotted(module) and module not in ("__main__", "builtins"):
                found[name] = f"{module}:{own}"  # a class that the program has under its own name
    return found


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _global_tensors(function: CompiledFunction) -> frozenset[str]:
    """Globals of the program that graphs take as inputs."""
    sources = [item.source for graph in function.graphs.values() for item in graph.known(CAPTURED).inputs]
    return frozenset(name for source in sources if (name := variable_of(source, "G")))


def _things(files: Mapping[str, str]) -> set[str]:
    """The classes of the objects that calls make."""
    found = set()
    for name in ("calls.py", "model.py"):
        for node in ast.walk(parse(files.get(name, ""))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "thing":
                found.add(str(ast.literal_eval(node.args[0])))
    return found


def _members(text: str, module: str) -> set[str]:
    """The attributes of ``module`` that a text reads."""
    return {
        node.attr
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module
    }
