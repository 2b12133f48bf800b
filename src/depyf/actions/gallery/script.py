"""One compiled graph -> one self-contained script.

Input: a ``CompiledGraph``.  Output: a ``Script``: the text of a file that needs torch only, makes inputs like those
the graph was compiled for, runs the captured graph in eager mode, under ``torch.compile`` and as AOTAutograd's
forward and backward graphs, and compares.  Raises ``CannotRender`` where that cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from depyf.actions.scripts.classes import graph_code
from depyf.actions.scripts.dumped_graphs import CompiledGraph
from depyf.actions.scripts.fill import Value
from depyf.actions.scripts.graph_parts import (
    RANDOM,
    REGISTERS,
    code_lines,
    common_values,
    own_operators,
    script_text,
    short_place,
    subject_of,
)
from depyf.actions.scripts.input_table import CannotRender, input_texts
from depyf.actions.scripts.process_groups import NOTE, groups_of
from depyf.decompiler.emit.comments import in_docstring
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD
from depyf.run.graphs.graph_facts import AotFacts
from depyf.run.graphs.graph_source import one_way_operator
from depyf.run.graphs.graph_text import GraphClass, read_graph
from depyf.run.graphs.value_types import Number, same_layout, tensor_type
from depyf.run.recorded.recorded_inputs import Recorded
from depyf.run.recorded.tensor_file import TensorEntry
from depyf.safety.escape import printable

_ASSERTS = re.compile(r"_assert_(?:async|scalar)\b")
_DRAWS = "The graph draws random numbers: they come from a fixed pattern where draws would differ."
_RECORDED = (
    "Its inputs are those of the call for which it was compiled, except for what is made here: that was not recorded."
)
_COMMAND = "THIS_FILE [--backend inductor|aot_eager|eager|none] [--seed N]"
_EXIT = "Exit status: 0 everything agrees, 1 something differs, 2 a device or an operator is missing."


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
    inputs = input_texts(captured, stage.facts, symbols, _with_grad(aot), recorded)
    if recorded is not None:
        notes.append(_RECORDED)
    graphs = [(captured, "Captured", stage.facts)]
    if aot is not None:
        graphs.append((aot.forward, "Forward", graph.stages[FORWARD].facts))
        if aot.backward is not None:
            graphs.append((aot.backward, "Backward", graph.stages[BACKWARD].facts))
    classes, imports = graph_code(graphs)
    imports += [line for part in graph.stages.values() for line in REGISTERS.findall(part.text)]
    aot_values = _aot_values(aot, [p.name for p in captured.parameters])
    version, ways = in_docstring(printable(graph.torch.partition("+")[0])), aot_values["WAYS"]
    values: dict[str, Value] = {
        **common_values(stage.facts, symbols, inputs, classes),
        "BUG": False,
        "CONSTANTS": [],
        "TITLE": f"The graph that torch.compile made of {subject_of(graph, root)}.",
        "ABOUT": [
            f"Written by `depyf gallery`, recorded with torch {version}; it needs torch only.  "
            "It runs the captured graph in eager",
            f"mode, under {ways}, and compares results and gradients.",
        ],
        "COMMAND": _COMMAND,
        "EXIT": [_EXIT],
        "SHARED": bool(inputs.shared) or any("shared=" in line for line in inputs.lines),
        **_what_the_graph_needs(graph, "\n".join(classes), notes),
        **aot_values,
    }
    page = script_text(imports, values)
    stages = tuple(name for _, name, _ in graphs)
    place = short_place(graph.place, root)
    return Script(
        graph.file,
        page,
        graph.compile_id,
        graph.function,
        place,
        stages,
        len(captured.parameters),
        tuple(notes),
        inputs.beside,
    )


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


def _what_the_graph_needs(graph: CompiledGraph, texts: str, notes: list[str]) -> dict[str, Value]:
    """Devices, operators, process groups, random numbers, assertions: what its code asks of the script."""
    code = code_lines(texts)
    devices = sorted(
        set(re.findall(r"\b(?:cuda|xpu|mps)(?::\d+)?", " ".join(re.findall(r"\](cuda\S*|xpu\S*|mps\S*)\"", texts))))
    )
    one_way = one_way_operator(code)
    backend = "none" if one_way else "inductor" if graph.wrappers else "aot_eager"
    why = f"; none by default, because Dynamo cannot read back the operator {one_way} that it wrote" if one_way else ""
    random, asserts = bool(RANDOM.search(code)), bool(_ASSERTS.search(code))
    own = own_operators(code)
    vision = any(name.startswith("torchvision.") for name in own)
    said = [*([NOTE] if groups_of(texts) else []), *([_DRAWS] if random else []), *notes]
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
        "RANDOM": random,
        "ASSERTS": asserts,
        "CONTEXTS": ", ".join([*contexts, *(["asserted"] if asserts else [])]),
    }


def _count(devices: list[str]) -> int:
    return 1 + max([int(d.partition(":")[2] or 0) for d in devices])


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
        return {"AOT": False, "BACKWARD": False, "WAYS": "torch.compile"}
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
        "WITH_TARGETS": "targets" if both else "",
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
