"""A dump -> one compiled function with everything a call of it can go through.

Input: the folder of a dump, which anybody may have written.  Output: ``CompiledFunction``: text and data only; nothing
that is read is imported or run.  Raises ``ExportError`` where the dump holds no such function.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from depyf.actions.scripts.dumped_graphs import CompiledGraph, dumped_graphs
from depyf.decompiler.emit.comments import source_lines
from depyf.errors import DepyfError
from depyf.run.files.layout import transformed_file
from depyf.run.files.reading import DumpError, Manifest, read_file, read_manifest
from depyf.run.global_names import transformed_name
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.recorded.recorded_inputs import Recorded, read_recorded
from depyf.run.records import CodeRecord, EntryRecord, FunctionRecord, GuardRecord, TransformedRecord
from depyf.run.run import Run
from depyf.run.store.earlier import NOT_KEPT
from depyf.run.store.loading import load
from depyf.safety.escape import printable, safe_name
from depyf.safety.unheard import parse
from depyf.views.dump.whole_dump import pages_of
from depyf.views.pages.full_code import caller_name, original_text, other_names


class ExportError(DepyfError):
    """There is no dump, or no function in it that can become a package."""


@dataclass(frozen=True, slots=True)
class DumpedGraph:
    """One graph, the inputs that were recorded, if any, and the code that Inductor wrote for it, or for its forward."""

    graph: CompiledGraph
    recorded: Recorded | None = None
    wrapper: str = ""

    def page(self, stage: str) -> str:
        """The page of ``stage``.  KeyError where the dump does not have it."""
        return self.graph.stages[stage].text

    def known(self, stage: str) -> GraphFacts:
        return self.graph.stages[stage].facts if stage in self.graph.stages else GraphFacts()


@dataclass(frozen=True, slots=True)
class DumpedEntry:
    """One compilation: the transformed code, and the guards that choose it."""

    name: str
    """``__transformed_code_0_0_for_f``, which is also the name of its file."""
    slug: str
    compile_id: str
    source: str
    guards: tuple[GuardRecord, ...]
    graphs: tuple[str, ...]
    lines: tuple[tuple[int, str], ...] = ()
    """A line of ``source`` at which another line of the program begins, and that, ``train.py:3``."""
    definitions: tuple[str, ...] = ()
    """Statements that define constants of ``source``."""


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
    """The function called ``wanted`` (its name, its qualified name, or the name of its page); the only one that was
    compiled where that is "".  ExportError where there is none, or more than one."""
    if not folder.is_dir():
        raise ExportError(f"{printable(str(folder))} is no folder; a dump is what depyf.prepare_debug wrote")
    try:
        manifest, run = read_manifest(folder), load(folder)
        damage = next((text for text in run.missing if text != NOT_KEPT), "")
        if damage:  # without a guard that is not there the package would run where it must not
            raise ExportError(damage)
        return _function(folder, manifest, run, _chosen(folder, run, wanted))
    except ExportError:
        raise
    except DumpError as error:
        raise ExportError(str(error)) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExportError(
            f"{printable(str(folder))}: a file is not what depyf wrote: {printable(str(error))}"
        ) from error


_Page = tuple[str, tuple[FunctionRecord, ...]]


_MOST_NAMED = 20


def _chosen(folder: Path, run: Run, wanted: str) -> _Page:
    """The name of a page, and the functions on it: the one that was asked for, and its resume functions."""
    pages = [*pages_of(run).items()]
    if not pages:
        raise ExportError(f"{printable(str(folder))} holds no compiled function")
    compiled = [page for page in pages if any(e.transformed is not None for f in page[1] for e in f.entries)] or pages
    if not wanted and len(compiled) == 1:
        return compiled[0]
    exact = [page for page in pages if wanted in _names(page)]
    if len(exact) == 1:
        return exact[0]
    some = exact or compiled
    named = [f"{functions[0].code.qualname} ({name.removesuffix('.py')})" for name, functions in some]
    more = [f"{len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
    known = ", ".join([*named[:_MOST_NAMED], *more])
    what = (
        "it holds more than one compiled function: name one with --function"
        if not wanted
        else f"it holds {'more than one' if exact else 'no'} function called {wanted!r}"
    )
    raise ExportError(printable(f"{folder}: {what}; there are {known}"))


def _names(page: _Page) -> set[str]:
    name, functions = page
    qualname = functions[0].code.qualname
    return {qualname, qualname.rpartition(".")[2], name.removesuffix(".py"), name}


def _function(folder: Path, manifest: Manifest, run: Run, page: _Page) -> CompiledFunction:
    name, functions = page
    graphs = _graphs(folder, manifest, run)
    codes = [_dumped_code(folder, manifest, function, graphs) for function in functions]
    root = functions[0].code
    if not codes[0].entries:
        raise ExportError(f"{printable(root.qualname)}: nothing of it was compiled and decompiled; {name} says why")
    used = {name: graphs[name] for code in codes for entry in code.entries for name in entry.graphs if name in graphs}
    sources = {source.path: read_file(folder, source.file) for source in run.sources}
    return CompiledFunction(
        root.qualname, f"{root.filename}:{root.line}", name, run.torch_version, tuple(codes), used, sources
    )


def _dumped_code(
    folder: Path, manifest: Manifest, function: FunctionRecord, graphs: dict[str, DumpedGraph]
) -> DumpedCode:
    code, name = function.code, caller_name(function)
    original = _original(function)
    return DumpedCode(
        name=name,
        aliases=other_names(function),
        signature=_with_defaults(_signature(code), original),
        locals=code.locals,
        given=tuple(code.spelled[local] for local in code.locals),
        call=code.forwarded,
        entries=tuple(
            _entry(folder, code, entry, graphs)
            for entry in function.entries
            if transformed_file(entry.key, code) in manifest.names
        ),
        original="" if original is None else ast.unparse(original),
    )


def _signature(code: CodeRecord) -> ast.arguments:
    node = parse(f"def f({code.parameters}): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node.args


def _original(function: FunctionRecord) -> ast.FunctionDef | None:
    """The function as it was before torch.compile, as its page shows it; None where its source cannot be read."""
    node = parse(original_text(function)).body[-1]
    stub = isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.Raise)
    return node if isinstance(node, ast.FunctionDef) and not stub else None


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


def _entry(folder: Path, code: CodeRecord, entry: EntryRecord, graphs: dict[str, DumpedGraph]) -> DumpedEntry:
    name = transformed_name(entry.key, code.name)
    source = read_file(folder, f"{name}.py")
    used = tuple(name for name in _names_in(source) if name in graphs)
    made = entry.transformed
    return DumpedEntry(
        name, entry.key.slug, entry.key.text, source, entry.guards, used, _lines(source, code, made),
        made.definitions if made is not None else (),
    )  # fmt: skip


def _lines(page: str, code: CodeRecord, made: TransformedRecord | None) -> tuple[tuple[int, str], ...]:
    """Of a page the lines at which other lines of the program begin; () where it was edited."""
    text = made.source.rstrip("\n") if made is not None else ""
    head = page.rstrip("\n").removesuffix(text)
    if made is None or not text or head == page.rstrip("\n"):
        return ()
    above, file = len(source_lines(head)), Path(code.filename).name
    return tuple((above + number, f"{file}:{line}") for number, line in made.lines)


def _names_in(source: str) -> list[str]:
    """The names that a text uses, in its order, each once; none of what is no Python."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return list(dict.fromkeys(node.id for node in sorted(found, key=lambda node: (node.lineno, node.col_offset))))


def _graphs(folder: Path, manifest: Manifest, run: Run) -> dict[str, DumpedGraph]:
    """What transformed code calls each graph -> the graph."""
    found = dumped_graphs(folder, manifest, run)
    alone = Counter((graph.generation, graph.compile_id) for graph in found)
    named = {}
    for graph in found:
        name = next(iter(graph.stages.values())).name.partition(".")[0] + (f"_{graph.index}" if graph.index else "")
        recorded = read_recorded(folder, graph.recorded) if graph.recorded else None
        code = graph.wrappers.get(0, "") if alone[graph.generation, graph.compile_id] == 1 else ""
        named[name] = DumpedGraph(graph, recorded, read_file(folder, code) if code else "")
    return named
