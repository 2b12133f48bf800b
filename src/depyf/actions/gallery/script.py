"""One compiled graph -> one self-contained script.

Input: a ``CompiledGraph``.  Output: a ``Script``: the text of a file that needs torch only, makes inputs like those
the graph was compiled for, runs the captured graph in eager mode, under ``torch.compile`` and as AOTAutograd's
forward and backward graphs, and compares.  Raises ``CannotRender`` where that cannot be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from depyf.actions.gallery.classes import class_text, constants_of
from depyf.actions.gallery.dump import CompiledGraph
from depyf.actions.gallery.fill import Value, fill
from depyf.actions.gallery.input_table import CannotRender, input_lines, readable_source, same_layout
from depyf.decompiler.emit.comments import comment, in_docstring, remark, split_remark
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.graphs.graph_facts import AotFacts, GraphFacts, ModeFacts
from depyf.run.graphs.graph_text import GraphClass, imports_of, read_graph, short_path
from depyf.run.graphs.process_groups import NOTE, groups_of
from depyf.run.graphs.script_parts import harness_text
from depyf.run.graphs.value_types import Number, tensor_type
from depyf.run.recorded.recorded_inputs import Recorded
from depyf.run.recorded.tensor_file import TensorEntry
from depyf.run.recorded.tensor_text import TensorTexts, tensor_texts
from depyf.safety.escape import printable

RANDOM = re.compile(
    r"dropout|bernoulli|\brand|\.rand|normal|uniform|inductor_rand|multinomial|exponential|cauchy|geometric|poisson"
)
_ASSERTS = re.compile(r"_assert_(?:async|scalar)\b")
REGISTERS = re.compile(r"^import torch\.[\w.]+$", re.M)
"""Modules of torch that a page imports because they register operators."""
ONE_WAY = re.compile(
    r"\bhigher_order\.(?P<name>flex_attention|scan|associative_scan|autograd_function_apply|invoke_subgraph)\("
)
"""Operators that Dynamo writes into a graph and cannot read back."""
_OPERATOR = re.compile(r"\btorch\.ops\.(\w+)\.(\w+)")
_TORCH_LIBRARIES = frozenset(
    "aten prim prims higher_order quantized inductor mkldnn mkl onednn rngprims debugprims _c10d_functional "
    "fsdp streams _c10d_functional_autograd c10d_functional c10d symm_mem _inductor_test _quantized "
    "quantized_decomposed sparse xpu mha profiler static_runtime xnnpack triton".split()
)
_LOW_PRECISION = (("bf16[", "torch.bfloat16", 5e-2), ("f16[", "torch.float16", 1e-2), ("f8e", "float8", 2e-1))


_DRAWS = "The graph draws random numbers: they come from a fixed pattern where draws would differ."
_RECORDED = (
    "Its inputs are those of the call for which it was compiled, except for what is made here: that was not recorded."
)
_AOT_HOLES = ("AOT_TITLE", "FRONT", "TARGETS", "SAVED", "WANTED", "STRIDES", "LABELS", "EXPECTED", "KEPT")


@dataclass(frozen=True, slots=True)
class Script:
    """A rendered script: the name of its file, its text, and one line for the index."""

    file: str
    text: str
    compile_id: str
    function: str
    place: str
    stages: tuple[str, ...]
    inputs: int
    notes: tuple[str, ...]
    beside: Mapping[str, TensorEntry] = field(default_factory=dict)
    """What the safetensors file beside the script holds."""


@dataclass(frozen=True, slots=True)
class _Aot:
    """AOTAutograd's graphs, and how they are called."""

    forward: GraphClass
    backward: GraphClass | None
    facts: AotFacts
    strides: tuple[tuple[int, ...] | None, ...] = ()
    saved: tuple[str, ...] = ()
    """What the forward graph returns for the backward graph."""

    @property
    def front(self) -> int:
        return len(self.facts.mutated) + len(self.facts.outputs) + self.facts.bases


def render(graph: CompiledGraph, root: str = "", recorded: Recorded | None = None) -> Script:
    """The script of ``graph``; files below ``root`` are named relative to it.  CannotRender where there is none.

    ``recorded``: its inputs; those that are not there are made up.
    """
    stage = graph.stages[CAPTURED]
    captured = read_graph(stage.text, root)
    if captured is None:
        raise CannotRender(f"{stage.name} holds no graph that can be read")
    symbols: dict[str, Number] = dict(stage.facts.symbols)
    aot, notes = _aot(graph, captured, root, symbols)
    with_grad = _with_grad(aot)
    lines = input_lines(captured, stage.facts, symbols, with_grad)
    texts = TensorTexts()
    if recorded is not None:
        lines, texts = _as_recorded(captured, lines, recorded)
        notes.append(_RECORDED)
    classes = [(captured, "Captured", stage.facts)]
    if aot is not None:
        classes.append((aot.forward, "Forward", graph.stages[FORWARD].facts))
        if aot.backward is not None:
            classes.append((aot.backward, "Backward", graph.stages[BACKWARD].facts))
    functions = dict(pair for _, _, facts in classes for pair in facts.functions)
    bodies = []
    for one, name, facts in classes:
        constants = constants_of(facts)
        bodies += [class_text(part, name, constants) for part in one.everything()]
    imports, unknown = imports_of([one for one, _, _ in classes], functions)
    imports += [line for part in graph.stages.values() for line in REGISTERS.findall(part.text)]
    if unknown:
        raise CannotRender(f"it calls {', '.join(unknown)}, which belongs to the program")
    page = _page(graph, captured, aot, lines, bodies, imports, symbols, notes, root, texts.shared)
    try:
        ast.parse(page)
    except SyntaxError as error:
        raise CannotRender(f"torch printed what is no Python (line {error.lineno} of the script)") from error
    stages = tuple(name for _, name, _ in classes)
    place = short_place(graph.place, root)
    return Script(
        graph.file, page, graph.compile_id, graph.function, place, stages, len(lines), tuple(notes), texts.beside
    )


def _as_recorded(captured: GraphClass, lines: list[str], recorded: Recorded) -> tuple[list[str], TensorTexts]:
    """The lines of the inputs with what was recorded in place of what is made up."""
    items = {item.name: item for item in recorded.inputs if not item.left_out}
    texts = tensor_texts(recorded, [items[p.original] for p in captured.parameters if p.original in items])
    found = []
    for parameter, line in zip(captured.parameters, lines):
        item = items.get(parameter.original)
        if item is not None:
            source = readable_source(item.source)
            told = source if item.role == "input" else f"{item.role} {source}".strip()
            made = f'"{parameter.name}": {texts.made[parameter.original]},'
            line = remark(made, "" if told == parameter.name else told)
        found += line.split("\n")
    return found, texts


def _aot(
    graph: CompiledGraph, captured: GraphClass, root: str, symbols: dict[str, Number]
) -> tuple[_Aot | None, list[str]]:
    """AOTAutograd's graphs where the script can call them, and what the reader must know."""
    stage = graph.stages.get(FORWARD)
    if stage is None:
        return None, []
    why = "AOTAutograd's graphs are left out: "
    if graph.cut:
        return None, [why + "the backend cut the captured graph into pieces."]
    facts = stage.facts.aot
    forward = read_graph(stage.text, root)
    if forward is None or facts is None:
        return None, [why + "the dump does not say how they are called."]
    if facts.subclasses or facts.tokens or len(forward.parameters) != len(captured.parameters):
        return None, [why + "they take other inputs than the captured graph."]
    if graph.stages.get(BACKWARD) is None:
        return _Aot(forward, None, facts), []
    back = graph.stages[BACKWARD]
    for name, value in back.facts.symbols:
        symbols.setdefault(name, value)
    backward = read_graph(back.text, root)
    aot = _Aot(forward, backward, facts)
    saved = () if backward is None else _saved(forward.returned()[aot.front :], backward)
    missing = [] if backward is None else [name for name in _taken(backward) if name not in saved]
    wanted = len(facts.mutated_tangents) + len(facts.output_tangents) + facts.bases
    if backward is None or missing or wanted != sum(p.name.startswith("tangents_") for p in backward.parameters):
        note = "AOTAutograd's backward graph is left out: it takes what the forward graph does not return."
        return _Aot(forward, None, facts), [note]
    return _Aot(forward, backward, facts, _tangent_strides(backward, symbols), saved), []


def _taken(backward: GraphClass) -> list[str]:
    return [p.name for p in backward.parameters if not p.name.startswith("tangents_")]


def _saved(names: tuple[str, ...], backward: GraphClass) -> tuple[str, ...]:
    """What the forward graph returns for the backward graph, as that one calls it: states of random numbers, with which
    it draws again, have different names there."""
    taken = _taken(backward)
    states = [name for name in taken if name not in names and name.startswith("rng_state_output")]
    others = [name for name in names if name not in taken]
    renamed = dict(zip(others, states)) if len(others) == len(states) else {}
    return tuple(renamed.get(name, name) for name in names)


def _tangent_strides(backward: GraphClass, symbols: Mapping[str, Number]) -> tuple[tuple[int, ...] | None, ...]:
    """For each tangent the strides it was compiled for, where they are not the usual ones."""
    found: list[tuple[int, ...] | None] = []
    for parameter in backward.parameters:
        if not parameter.name.startswith("tangents_"):
            continue
        kind = tensor_type(parameter.type, symbols)
        known = kind is not None and kind.stride is not None and None not in (*kind.shape, *kind.stride)
        shape = tuple(int(s or 0) for s in kind.shape) if kind is not None else ()
        stride = tuple(int(s or 0) for s in kind.stride or ()) if kind is not None else ()
        found.append(stride if known and not same_layout(shape, stride) else None)
    return tuple(found)


def _with_grad(aot: _Aot | None) -> frozenset[int]:
    if aot is None or aot.backward is None:
        return frozenset()
    return frozenset(i for i, name in enumerate(aot.backward.returned()) if name)


def _page(
    graph: CompiledGraph,
    captured: GraphClass,
    aot: _Aot | None,
    inputs: list[str],
    classes: list[str],
    imports: list[str],
    symbols: Mapping[str, Number],
    notes: list[str],
    root: str,
    shared: list[str],
) -> str:
    texts = "\n".join(classes)
    facts = graph.stages[CAPTURED].facts
    libraries = sorted({"import torch", *imports}, key=import_order)
    if "torch.utils.checkpoint." in texts or "tag_activation_checkpoint" in texts:
        libraries.append("import torch.utils.checkpoint")
    values: dict[str, Value] = {
        "TITLE": _title(graph, root),
        "TORCH": in_docstring(printable(graph.torch.partition("+")[0])),
        "LIBRARIES": libraries,
        "SYMBOLS": symbol_lines(inputs, symbols, facts),
        "MAKES": any("make." in line for line in inputs),
        "RECORDED": _RECORDED in notes,
        "MEMORY": shared,
        "INPUTS": inputs,
        "CLASSES": "\n\n\n".join(classes).split("\n"),
        "SHARED": bool(shared) or any("shared=" in line for line in inputs),
        **_what_the_graph_needs(graph, texts, notes),
        **_ambient(facts.modes),
        **_aot_values(aot, [p.name for p in captured.parameters]),
    }
    _, _, functions = fill({**values, "STANDARD_LIBRARY": [], "HARNESS": []}).partition("\ndef make_inputs(")
    harness, needed = harness_text(functions)
    if values["OPERATORS"]:
        needed.append("import importlib")
    standard = sorted({"import argparse", "import sys", *needed})
    return fill({**values, "STANDARD_LIBRARY": standard, "HARNESS": harness.split("\n")})


def symbol_lines(inputs: list[str], symbols: Mapping[str, Number], facts: GraphFacts) -> list[str]:
    """The dynamic sizes that inputs have, with their values and where they come from."""
    sources = {item.symbol: item.source for item in facts.inputs if item.symbol}
    used = _used_symbols(inputs, symbols)
    lines = [remark(f"{name} = {symbols[name]}", readable_source(sources.get(name, ""))) for name in used]
    return [comment("Dynamic sizes, with the values they had; others may be tried."), *lines] if lines else []


def _what_the_graph_needs(graph: CompiledGraph, texts: str, notes: list[str]) -> dict[str, Value]:
    """Devices, operators, process groups, random numbers, assertions: what its code asks of the script."""
    code = "\n".join(code_lines(texts))
    devices = sorted(
        set(re.findall(r"\b(?:cuda|xpu|mps)(?::\d+)?", " ".join(re.findall(r"\](cuda\S*|xpu\S*|mps\S*)\"", texts))))
    )
    one_way = m["name"] if (m := ONE_WAY.search(code)) else ""
    backend = "none" if one_way else "inductor" if graph.wrapper else "aot_eager"
    why = f"; none by default, because Dynamo cannot read back the operator {one_way} that it wrote" if one_way else ""
    random, asserts = bool(RANDOM.search(code)), bool(_ASSERTS.search(code))
    own, groups = own_operators(code), groups_of(texts)
    vision = any(name.startswith("torchvision.") for name in own)
    said = [*([NOTE] if groups else []), *([_DRAWS] if random else []), *notes]
    contexts = ["inlined()"] if "higher_order.invoke_subgraph(" in texts else []
    return {
        "NOTES": said,
        "BACKEND": f'"{backend}"',
        "BACKEND_HELP": f'"for torch.compile; none: leave it out{why}"',
        "DEVICES": ", ".join(devices),
        "ACCELERATOR": f"torch.{devices[0].partition(':')[0]}" if devices else "",
        "DEVICE_COUNT": str(_count(devices)) if devices else "",
        "OPERATORS": _names(tuple(own)) if own else "",
        "OPERATOR_MODULES": '["torchvision", *options.modules]' if vision else "options.modules",
        "GROUPS": str(groups) if groups else "",
        "TOLERANCE": str(tolerance_of(texts)),
        "RANDOM": random,
        "ASSERTS": asserts,
        "CONTEXTS": ", ".join([*contexts, *(["asserted"] if asserts else [])]),
    }


def code_lines(text: str) -> list[str]:
    """The lines that are no comments: these quote the program."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("#")]


def own_operators(code: str) -> list[str]:
    """The operators that are not torch's: ``library.name``."""
    found = {f"{m[1]}.{m[2]}" for m in _OPERATOR.finditer(code)}
    return sorted(name for name in found if name.partition(".")[0] not in _TORCH_LIBRARIES)


def import_order(line: str) -> tuple[bool, bool, str]:
    """Definitions after all imports."""
    return " = " in line, line.startswith("from "), line


def _title(graph: CompiledGraph, root: str) -> str:
    what = f"{graph.function} ({short_place(graph.place, root)})" if graph.function else "an unknown function"
    return in_docstring(printable(f"The graph that torch.compile made of {what}, compile id {graph.compile_id}."))


def short_place(place: str, root: str) -> str:
    path, _, line = place.rpartition(":")
    return f"{short_path(path, root)}:{line}" if path else place


def _used_symbols(lines: list[str], symbols: Mapping[str, Number]) -> list[str]:
    words = set(re.findall(r"\w+", "\n".join(split_remark(line)[0] for line in lines)))
    return sorted((name for name in symbols if name in words), key=lambda name: (name[0], len(name), name))


def _count(devices: list[str]) -> int:
    return 1 + max([int(d.partition(":")[2] or 0) for d in devices])


def tolerance_of(texts: str) -> float:
    return next((value for mark, name, value in _LOW_PRECISION if f'"{mark}' in texts or name in texts), 1e-4)


def managers_of(modes: ModeFacts | None) -> list[str]:
    """The context managers for the state of torch in which the program called the graph."""
    if modes is None:
        return []
    managers = []
    if modes.inference:
        managers.append("torch.inference_mode()")
    elif not modes.grad:
        managers.append("torch.no_grad()")
    return managers + [f'torch.autocast("{device}", {dtype})' for device, dtype in modes.autocast.items()]


def _ambient(modes: ModeFacts | None) -> dict[str, Value]:
    managers = managers_of(modes)
    if len(managers) < 2:
        return {"ENTERED": [], "MODE": managers[0] if managers else "contextlib.nullcontext()"}
    return {"ENTERED": [f"stack.enter_context({manager})" for manager in managers], "MODE": ""}


def _bases(aot: _Aot) -> list[str]:
    """Expressions for the intermediate results that outputs are views of."""
    found = []
    for base in range(aot.facts.bases):
        views = [
            i
            for i, (kind, index) in enumerate(zip(aot.facts.outputs, aot.facts.output_bases))
            if index == base and kind in ("alias_of_intermediate", "alias_of_intermediate_save_as_output")
        ]
        found.append(f"outputs[{views[0]}]._base" if views else "None")
    return found


def _aot_values(aot: _Aot | None, inputs: list[str]) -> dict[str, Value]:
    """How the script calls AOTAutograd's graphs, and what it compares."""
    if aot is None:
        conditions = dict.fromkeys(("AOT", "BACKWARD", "ARGUMENT_TARGETS"), False)
        return {**dict.fromkeys(_AOT_HOLES, ""), **conditions, "WAYS": "torch.compile"}
    facts, bases, kept = aot.facts, _bases(aot), _kept_inputs(aot)
    targets = [f"arguments[{i}]" for i in facts.mutated_tangents]
    targets += [f"outputs[{i}]" for i in facts.output_tangents]
    written = [f"arguments[{i}]" for i in facts.mutated]
    labels = [f"input {inputs[i]}" for i in facts.mutated]
    labels += [f"output {i}" for i in range(len(facts.outputs))] + [f"base {i}" for i in range(facts.bases)]
    both = aot.backward is not None
    return {
        "AOT": True,
        "BACKWARD": both,
        "WAYS": f"torch.compile and as AOTAutograd's {'forward and backward graphs' if both else 'graph'}",
        "AOT_TITLE": f'"AOTAutograd\'s {"forward and backward graphs" if both else "graph"}"',
        "FRONT": str(aot.front),
        "TARGETS": f"[{', '.join([*targets, *bases])}]",
        "ARGUMENT_TARGETS": any("arguments" in item for item in [*targets, *bases]),
        "SAVED": _names(aot.saved),
        "WANTED": _names(tuple(p.name for p in aot.backward.parameters)) if aot.backward is not None else "",
        "STRIDES": repr(aot.strides) if any(aot.strides) else "",
        "LABELS": _names(tuple(labels)),
        "EXPECTED": f"[{', '.join([*written, '*outputs', *bases])}]" if written or bases else "outputs",
        "KEPT": _names(kept, quote=False) if kept else "",
    }


def _kept_inputs(aot: _Aot) -> tuple[str, ...]:
    """Positions of the inputs that the forward graph itself writes to (``aten.copy_``)."""
    text = "\n".join(aot.forward.body)
    written = re.findall(r"torch\.ops\.aten\.copy_\.default\((\w+)", text)
    names = [p.name for p in aot.forward.parameters]
    return tuple(str(i) for i, name in enumerate(names) if name in written)


def _names(names: tuple[str, ...], quote: bool = True) -> str:
    items = [f'"{name}"' if quote else name for name in names]
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
