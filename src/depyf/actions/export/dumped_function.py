"""A dump -> one compiled function with everything a call of it can go through.

Input: the folder of a dump, which anybody may have written.  Output: ``CompiledFunction``: text and data only; nothing
that is read is imported or run.  Raises ``ExportError`` where the dump holds no such function.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.files.file_record import FileRecord
from depyf.run.files.layout import GUARDS_DATA
from depyf.run.files.reading import DumpError, Manifest, read_file, read_json, read_manifest
from depyf.run.recorded.recorded_inputs import Recorded, read_recorded
from depyf.safety.escape import printable, safe_name

_ENTRY = re.compile(r"__transformed_code_(\w+?)_for_\w+")
_STAGES = (CAPTURED, FORWARD, BACKWARD)


class ExportError(DepyfError):
    """There is no dump, or no function in it that can become a package."""


@dataclass(frozen=True, slots=True)
class DumpedGraph:
    """One graph: what transformed code calls it, its pages by stage with what is known of their inputs, and the inputs that
    were recorded, if any."""

    called: str
    compile_id: str
    pages: dict[str, str]
    facts: dict[str, dict[str, Any]]
    recorded: Recorded | None = None
    wrapper: str = ""
    """The code that Inductor wrote for it, or for its forward."""


@dataclass(frozen=True, slots=True)
class DumpedEntry:
    """One compilation: the transformed code, and the guards that choose it."""

    name: str
    """``__transformed_code_0_0_for_f``, which is also the name of its file."""
    slug: str
    compile_id: str
    source: str
    guards: tuple[dict[str, Any], ...]
    graphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DumpedCode:
    """The function, or a resume function of it, with its entries in the order in which torch tries them."""

    name: str
    aliases: tuple[str, ...]
    signature: ast.arguments
    locals: tuple[str, ...]
    """Names in ``L``, in the order of the page, and the variable that each is."""
    given: tuple[str, ...]
    call: str
    """The arguments of a call of an entry, as text."""
    entries: tuple[DumpedEntry, ...]
    original: str = ""


@dataclass(frozen=True, slots=True)
class CompiledFunction:
    """A compiled function: ``codes[0]`` is it, the others are its resume functions."""

    qualname: str
    place: str
    page: str
    torch: str
    codes: tuple[DumpedCode, ...]
    graphs: dict[str, DumpedGraph]
    sources: dict[str, str] = field(default_factory=dict)
    """A file of the program -> its copy in the dump."""

    @property
    def entries(self) -> tuple[DumpedEntry, ...]:
        return tuple(entry for code in self.codes for entry in code.entries)

    @property
    def slug(self) -> str:
        return safe_name(self.qualname.rpartition(".")[2])


def read_function(folder: Path, wanted: str = "") -> CompiledFunction:
    """The function called ``wanted`` (its name, its qualified name, or the name of its page); the only one that was compiled
    where that is "".  ExportError where there is none, or more than one."""
    if not folder.is_dir():
        raise ExportError(f"{printable(str(folder))} is no folder; a dump is what depyf.prepare_debug wrote")
    try:
        manifest = read_manifest(folder)
        return _function(folder, manifest, _chosen(folder, manifest, wanted))
    except ExportError:
        raise
    except DumpError as error:
        raise ExportError(str(error)) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExportError(
            f"{printable(str(folder))}: a file is not what depyf wrote: {printable(str(error))}"
        ) from error


def _chosen(folder: Path, manifest: Manifest, wanted: str) -> FileRecord:
    pages = [file for file in manifest.files if file.kind == "full_code" and file.name.endswith(".py")]
    if not pages:
        raise ExportError(f"{printable(str(folder))} holds no compiled function")
    made = {file.compile_id for file in manifest.files if file.kind == "transformed_code"}
    compiled = [page for page in pages if not made.isdisjoint(page.compile_ids)] or pages
    if not wanted and len(compiled) == 1:
        return compiled[0]
    exact = [page for page in pages if wanted in _names(page)]
    if len(exact) == 1:
        return exact[0]
    some = exact or compiled
    known = ", ".join(f"{page.function or '?'} ({page.name.removesuffix('.py')})" for page in some)
    what = (
        "it holds more than one compiled function: name one with --function"
        if not wanted
        else f"it holds {'more than one' if exact else 'no'} function called {wanted!r}"
    )
    raise ExportError(printable(f"{folder}: {what}; there are {known}"))


def _names(file: FileRecord) -> set[str]:
    return {file.function, file.function.rpartition(".")[2], file.name.removesuffix(".py"), file.name}


def _function(folder: Path, manifest: Manifest, file: FileRecord) -> CompiledFunction:
    tree = ast.parse(read_file(folder, file.name))
    transformed = {
        other.name.removesuffix(".py"): other for other in manifest.files if other.kind == "transformed_code"
    }
    guards = _guards(folder, manifest)
    graphs = _graphs(folder, manifest)
    page = _Page(tree)
    codes = []
    for node, locals_, given, call, chosen in page.dispatchers:
        entries = [
            _entry(folder, name, transformed[name], guards, graphs)
            for name in chosen
            if name in transformed and _ENTRY.fullmatch(name)
        ]
        codes.append(
            DumpedCode(
                node.name, page.aliases(node.name), _with_defaults(node.args, page.original(node.name)), locals_, given,
                call, tuple(entries), page.original_text(node.name),
            )
        )  # fmt: skip
    if not codes or not codes[0].entries:
        raise ExportError(
            f"{printable(file.function or file.name)}: nothing of it was compiled and decompiled; {file.name} says why"
        )
    used = {name: graphs[name] for code in codes for entry in code.entries for name in entry.graphs if name in graphs}
    sources = {
        other.path: read_file(folder, other.name)
        for other in manifest.files
        if other.kind == "source" and other.origins
    }
    return CompiledFunction(
        file.function or codes[0].name, file.origin, file.name, manifest.torch,
        tuple(codes), used, sources,
    )  # fmt: skip


class _Page:
    """What the page of a function says: see ``views/pages/full_code.py``."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self._aliases: dict[str, list[str]] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                self._aliases.setdefault(node.value.id, []).extend(names)
        found = [(node, _dispatch(node)) for node in self.functions.values()]
        self.dispatchers = [(node, *parts) for node, parts in found if parts is not None]

    def aliases(self, name: str) -> tuple[str, ...]:
        return tuple(self._aliases.get(name, ()))

    def original(self, name: str) -> ast.FunctionDef | None:
        return self.functions.get(f"__original_{name.lstrip('_')}")

    def original_text(self, name: str) -> str:
        node = self.original(name)
        if node is None or any(isinstance(part, ast.Raise) for part in node.body[:1]):
            return ""
        return ast.unparse(node)


_Parts = tuple[tuple[str, ...], tuple[str, ...], str, list[str]]


def _dispatch(node: ast.FunctionDef) -> _Parts | None:
    """The parts of a function that begins with ``L, G = frame_0.enter({...})``; None for another one."""
    first = node.body[0]
    if not isinstance(first, ast.Assign) or not isinstance(first.value, ast.Call):
        return None
    called = first.value.func
    if not isinstance(called, ast.Attribute) or called.attr != "enter" or not first.value.args:
        return None
    given = first.value.args[0]
    if not isinstance(given, ast.Dict):
        return None
    names = tuple(str(ast.literal_eval(key)) for key in given.keys if key is not None)
    values = tuple(ast.unparse(value) for value in given.values)
    chosen, call = [], ""
    for part in node.body[1:]:
        returned = part.body[0] if isinstance(part, ast.If) else part
        if isinstance(returned, ast.Return) and isinstance(returned.value, ast.Call):
            value = returned.value
            call = ast.unparse(ast.Call(ast.Name("f"), value.args, value.keywords))[2:-1]
            if isinstance(part, ast.If) and isinstance(value.func, ast.Name):
                chosen.append(value.func.id)
    return names, values, call, chosen


def _with_defaults(signature: ast.arguments, original: ast.FunctionDef | None) -> ast.arguments:
    """``signature`` with the default values that are literals; a parameter whose default is none has to be given."""
    if original is None:
        return signature
    args = original.args
    positional = [*args.posonlyargs, *args.args]
    known = dict(zip([a.arg for a in positional[len(positional) - len(args.defaults) :]], args.defaults))
    known |= {a.arg: value for a, value in zip(args.kwonlyargs, args.kw_defaults) if value is not None}
    known = {name: value for name, value in known.items() if _literal(value)}
    names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
    first = next((i for i in range(len(names)) if all(name in known for name in names[i:])), len(names))
    return ast.arguments(
        signature.posonlyargs, signature.args, signature.vararg, signature.kwonlyargs,
        [known.get(a.arg) for a in signature.kwonlyargs], signature.kwarg, [known[name] for name in names[first:]],
    )  # fmt: skip


def _literal(value: ast.expr) -> bool:
    try:
        return ast.literal_eval(value) is not ...
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False


def _guards(folder: Path, manifest: Manifest) -> dict[tuple[str, int], tuple[dict[str, Any], ...]]:
    """(compile id, generation) -> its guards, in order."""
    if GUARDS_DATA not in manifest.names:
        return {}
    data = read_json(folder, GUARDS_DATA)
    try:
        pool = data["guards"]
        return {
            (str(entry["compile_id"]), int(entry["generation"])): tuple(
                dict(pool[i]) for i in entry["guards"] if i >= 0
            )
            for entry in data["entries"]
        }
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ExportError(f"{printable(str(folder / GUARDS_DATA))} is damaged: {printable(repr(error))}") from error


def _entry(
    folder: Path,
    name: str,
    file: FileRecord,
    guards: dict[tuple[str, int], tuple[dict[str, Any], ...]],
    graphs: dict[str, DumpedGraph],
) -> DumpedEntry:
    match = _ENTRY.fullmatch(name)
    assert match is not None
    source = read_file(folder, file.name)
    words = dict.fromkeys(re.findall(r"\b__compiled_fn_\w+\b", "\n".join(_code(source))))
    compile_id = file.compile_id or ""
    key = compile_id, file.generation
    used = tuple(word for word in words if word in graphs)
    return DumpedEntry(name, match[1], compile_id, source, guards.get(key, ()), used)


def _code(source: str) -> list[str]:
    return [line for line in source.splitlines() if not line.lstrip().startswith("#")]


def _graphs(folder: Path, manifest: Manifest) -> dict[str, DumpedGraph]:
    """What transformed code calls each graph -> the graph."""
    found: dict[str, DumpedGraph] = {}
    recorded = {
        source: file.name for file in manifest.files if file.kind == "recorded_inputs" for source in file.origins
    }
    for file in manifest.files:
        if file.kind != "graph" or file.stage not in _STAGES:
            continue
        called = file.name.partition(".")[0] + (f"_{file.index}" if file.index else "")
        graph = found.setdefault(called, DumpedGraph(called, file.compile_id or "", {}, {}))
        stage, facts = file.stage, file.name.removesuffix(".py") + ".json"
        graph.pages[stage] = read_file(folder, file.name)
        known = read_json(folder, facts) if facts in manifest.names else {}
        if not isinstance(known, dict):
            raise ExportError(f"{printable(str(folder / facts))} is damaged: it does not hold what is known of a graph")
        graph.facts[stage] = known
        if stage == CAPTURED and file.name in recorded:
            known_inputs = read_recorded(folder, recorded[file.name])
            found[called] = replace(graph, recorded=known_inputs)
    for file in manifest.files:
        called = file.name.partition(".")[0]
        if file.kind == "wrapper" and not file.index and called in found and f"{called}_1" not in found:
            found[called] = replace(found[called], wrapper=read_file(folder, file.name))
    return found
