"""The page of one ``__compiled_fn_*`` file.

Input: a ``GraphRecord`` and, for a graph that is alive and can be stepped through, its text as it runs.  Output
invariant: valid Python; a generated wrapper has the code and the lines that torch wrote.
"""

from __future__ import annotations

import ast
import builtins
import math
import re

from depyf.actions.scripts.process_groups import with_groups
from depyf.decompiler.emit.comments import comment, comments, source_lines
from depyf.run.compile_stages import BY_NAME, WRAPPER
from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.graphs.graph_source import importable, imports_for, parsed
from depyf.run.graphs.graph_text import read_graph
from depyf.run.graphs.masks import exactly_true
from depyf.run.graphs.program_comments import RUNS
from depyf.run.graphs.sample_run import sample_run
from depyf.run.graphs.value_types import SYMBOL, tensor_type
from depyf.run.records import GraphRecord
from depyf.safety.escape import one_line
from depyf.safety.unheard import parse

_COMPILE_ID = "Compile id"
_HEAD = comment(_COMPILE_ID)
"""How the page of a graph begins."""
_CALLED = re.compile(r" = (\w+)\(")
_STORED = re.compile(r"(?:^|;)[ \t]*[\w.]+\[.*\] = ", re.M)
_IN_PLACE = re.compile(r"^( +)(\w+) = (torch\.ops\.aten\._foreach_\w+_\.\w+)\((\[[\w, ]*\])", re.M)
REWRITTEN = "This is the graph that runs; torch rewrote it after it reported this stage."


def graph_page(record: GraphRecord, step_text: str = "", *, exact: bool = True, elsewhere: bool = False) -> str:
    """The whole file; ``exact`` is False where torch changed the graph after printing it, ``elsewhere`` is true where
    its lines are those of another program."""
    if record.stage == WRAPPER:
        return record.text if parsed(record.text) is not None else _as_comments(record)
    page = unchecked_page(record, step_text, exact=exact, elsewhere=elsewhere)
    return page if parsed(page) is not None else _as_comments(record)


def unchecked_page(record: GraphRecord, step_text: str = "", *, exact: bool = True, elsewhere: bool = False) -> str:
    """As ``graph_page``, for a graph that the caller compiles: only then is it known to be Python."""
    body = _lists_in_place((step_text or importable(record.text)).rstrip("\n"))
    notes = [_title(record), *map(one_line, record.edited)]
    notes += _given(record)
    if not exact:
        notes.append(REWRITTEN)
    if elsewhere:
        notes.append("Taken from a compile cache: the files and lines below are those of the program that filled it.")
    made = _made_by_torch(record.facts.functions if record.facts is not None else (), body)
    top = f"{comments(notes)}\n\n{imports_for(body)}{made}\n\n"
    page = f"{top}{body}\n"
    if any(not hasattr(builtins, called) and not re.search(rf"\b{called}\b", top) for called in _CALLED.findall(body)):
        return page  # it calls a function of the program
    name = "GraphModule" if "class GraphModule(" in body else _class_name(body)
    facts = record.facts
    symbols = {name: value for name, value in facts.symbols if isinstance(value, int)} if facts is not None else {}
    run = sample_run(name, body, _true_elements(body, symbols), _passed_as_tensors(facts), symbols)
    runnable = with_groups(run, body)
    return f"{page}\n\n{runnable}" if runnable else page


def _lists_in_place(body: str) -> str:
    """``body`` with the list that an operator changes in place where items of its result are read, as Inductor reads
    them: it returns nothing."""

    def named(call: re.Match[str]) -> str:
        space, name, operator, changed = call.groups()
        read = re.search(rf" = {name}\[\d", body)
        return f"{space}{name} = {changed};  {operator}({name}" if read else call[0]

    return _IN_PLACE.sub(named, body) if "._foreach_" in body else body


def _true_elements(body: str, known: dict[str, int]) -> dict[str, int]:
    """Inputs that are masks of which a known number of elements is true, as the scripts of the gallery make them."""
    stores = '"b8[' in body and ("index_put" in body or _STORED.search(body))
    graph = read_graph(body, "") if stores else None  # taking a graph apart takes as long as all else on its page
    if graph is None:
        return {}
    symbols = {**dict.fromkeys(SYMBOL.findall(body), 8), **known}  # as in the other inputs
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, symbols)) is not None}
    true = exactly_true(graph, types, symbols)
    return {p.original: true[p.name][0] for p in graph.parameters if p.name in true}


def _passed_as_tensors(facts: GraphFacts | None) -> dict[str, str]:
    """Inputs that are numbers, which torch passes as tensors, with their recorded values."""
    return {
        number.name: f"torch.tensor({number.value!r}, dtype={number.tensor.dtype})"
        for number in (facts.inputs if facts is not None else ())
        if number.tensor is not None
        and isinstance(number.value, (int, float))
        and type(number.value) is not bool
        and math.isfinite(number.value)
    }


def _made_by_torch(functions: tuple[tuple[str, str], ...], body: str) -> str:
    """Definitions of torch's replacements for functions of NumPy, for those that ``body`` calls."""
    called = [(name, made) for name, made in functions if re.search(rf"(?<![\w.]){name}\(", body)]
    imports: dict[str, None] = {}
    for _, made in called:
        attributes = [node for node in ast.walk(parse(made)) if isinstance(node, ast.Attribute)]
        inner = {id(node.value) for node in attributes}
        imports |= {f"import {ast.unparse(node.value)}\n": None for node in attributes if id(node) not in inner}
    return "".join([*sorted(imports), *(f"\n{name} = {made}" for name, made in called), "\n" if called else ""])


def quick_page(record: GraphRecord) -> str:
    """The text as torch reported it, without what takes time to find out; it may not be legal Python yet."""
    if record.stage == WRAPPER:
        return record.text
    body = _lists_in_place(importable(record.text))
    return f"{comments([_title(record), *_given(record)])}\n\nimport torch\n\n\n{body}\n"


def printed_part(page: str) -> str:
    """The lines of ``page`` that torch printed; the whole text where it is no page of a graph."""
    lines = page.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("class ")), None)
    if first is None or not page.startswith(_HEAD):
        return page
    last = next((number for number in range(first, len(lines)) if lines[number].startswith(RUNS)), len(lines))
    return "\n".join(lines[first:last]).rstrip("\n") + "\n"


def _title(record: GraphRecord) -> str:
    stage = BY_NAME[record.stage].title if record.stage in BY_NAME else record.stage
    return f"{_COMPILE_ID} {record.key.text}: {stage}."


def _given(record: GraphRecord) -> list[str]:
    """Who gave the graph to be formatted, as what, and the engine's pass context then."""
    if record.given is None:
        return []
    context = "".join(f", {name}={value}" for name, value in record.given.context)
    return [one_line(f"Given as {record.given.name!r} by {record.given.by}{context}.")]


def _class_name(body: str) -> str:
    return body.split("class ", 1)[-1].split("(", 1)[0]


def _as_comments(record: GraphRecord) -> str:
    head = f"{_COMPILE_ID} {record.key.text}, {record.stage}: torch printed this, and it is not Python."
    return comments([head, *source_lines(record.text)]) + "\n"
