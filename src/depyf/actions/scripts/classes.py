"""The classes of a script: a graph as ``torch.nn.Module``.

Input: a ``GraphClass`` and the constants recorded for it.  Output: the text of one class, for example::

    class Captured(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cond_true_0 = Captured_cond_true_0()

        def forward(self, x: "f32[2, 3][3, 1]cpu"):
            ...
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from depyf.actions.scripts.input_table import CannotRender
from depyf.actions.scripts.tensor_text import number_text, tensor_of
from depyf.decompiler.emit.comments import remark
from depyf.run.graphs.graph_facts import ConstantFacts, GraphFacts
from depyf.run.graphs.graph_text import GraphClass, attributes_of, imports_of

_READS_NODES = re.compile(r"\bhigher_order\.(?:autograd_function_apply|scan|associative_scan|invoke_quant\w*)\(")
_FEW = 3
_WIDTH = 110


def class_name(name: str, path: tuple[str, ...]) -> str:
    return "_".join([name, *(re.sub(r"\W+", "_", part) for part in path)])


def constants_of(facts: GraphFacts) -> dict[str, ConstantFacts]:
    """Attribute -> its record."""
    return {item.name: item for item in facts.constants}


def graph_code(graphs: Sequence[tuple[GraphClass, str, GraphFacts]]) -> tuple[list[str], list[str]]:
    """The classes of graphs, children first, and the lines that import what they need.  CannotRender: they read or call
    what belongs to the program."""
    texts = [class_text(one, name, constants_of(facts)) for graph, name, facts in graphs for one in graph.everything()]
    functions = dict(pair for _, _, facts in graphs for pair in facts.functions)
    imports, unknown = imports_of([graph for graph, _, _ in graphs], functions)
    if unknown:
        raise CannotRender(f"it calls {', '.join(unknown)}, which belongs to the program")
    code = "\n".join(texts)
    if "torch.utils.checkpoint." in code or "tag_activation_checkpoint" in code:
        imports.append("import torch.utils.checkpoint")
    return texts, ["import torch", *imports]


def class_text(graph: GraphClass, name: str, constants: Mapping[str, ConstantFacts]) -> str:
    """The text of one class (its children are separate classes).  CannotRender: an attribute is not known."""
    children = {child.path[-1] for child in graph.children}
    own: dict[str, str] = {child.path[-1]: class_name(name, child.path) + "()" for child in graph.children}
    for child in own.keys() & wants_graph(graph):
        own[child] = f"traced({own[child]})"
    prefix = "".join(part + "." for part in graph.path)
    for attribute in attributes_of(graph):
        if attribute.partition(".")[0] in children or attribute in own:
            continue
        record = constants.get(prefix + attribute)
        if record is None or not attribute.isidentifier():
            raise CannotRender(f"it reads self.{attribute}, which belongs to the program and was not recorded")
        own[attribute] = _constant(attribute, record)
    lines = [f"class {class_name(name, graph.path)}(torch.nn.Module):"]
    if own:
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += [f"        self.{key} = {value}" for key, value in own.items()]
        lines.append("")
    lines += signature("forward", graph, "    ", ("self",))
    lines += ["        " + line if line else "" for line in graph.body or ("pass",)]
    return "\n".join(lines)


def wants_graph(graph: GraphClass) -> set[str]:
    """The names of child graphs that are bodies of an operator which reads their nodes."""
    found: set[str] = set()
    for line in graph.body:
        if not line.lstrip().startswith("#") and _READS_NODES.search(line):
            found |= set(re.findall(r"\w+", line))
    return found


def signature(name: str, graph: GraphClass, indent: str = "", before: tuple[str, ...] = ()) -> list[str]:
    """``def NAME(...):`` with the parameters of the graph and their types, on one line where it is short."""
    parameters = [*before, *(f'{p.name}: "{p.type}"' if p.type else p.name for p in graph.parameters)]
    short = f"{indent}def {name}({', '.join(parameters)}):"
    if len(short) <= _WIDTH and len(graph.parameters) <= _FEW:
        return [short]
    return [f"{indent}def {name}(", *(f"{indent}    {text}," for text in parameters), f"{indent}):"]


def _constant(name: str, record: ConstantFacts) -> str:
    """An expression for a constant of the graph; one whose values were too many to record is made up."""
    tensor = record.tensor
    if tensor is None:
        if not record.text:
            raise CannotRender(f"it reads self.{name}, a {record.kind} of the program")
        return record.text
    if tensor.subclass:
        raise CannotRender(f"it reads self.{name}, a {tensor.subclass}")
    dtype, shape = tensor.dtype, tensor.shape
    if record.values is not None:
        return tensor_of([number_text(value) for value in record.values], shape, dtype, tensor.device)
    device = "" if tensor.device == "cpu" else f', device="{tensor.device}"'
    count = math.prod(shape)
    low, high = record.low, record.high
    if not count or low is None or high is None:
        return remark(f"torch.zeros({shape}, dtype={dtype}{device})", "its values were not recorded")
    if dtype.startswith(("torch.int", "torch.uint", "torch.bool")):
        made = f"(torch.arange({count}) % {int(high) - int(low) + 1} + {int(low)}).reshape({shape}).to({dtype})"
    else:
        made = f"torch.linspace({low!r}, {high!r}, {count}, dtype=torch.float64).reshape({shape}).to({dtype})"
    place = f'.to("{tensor.device}")' if device else ""
    return remark(f"{made}{place}", "too many values to record: made up, in the same range")
