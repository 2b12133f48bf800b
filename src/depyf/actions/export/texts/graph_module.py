"""One graph of a dump -> one module of a package.

Input: a page of a graph.  Output: text that needs torch only: a function, or a module with ``torch.nn.Module`` classes
where the graph has inner graphs or constants.  Raises ``CannotRender`` where the page is no graph.
"""

from __future__ import annotations

from depyf.actions.gallery.classes import class_text
from depyf.actions.gallery.input_table import CannotRender
from depyf.decompiler.emit.comments import in_docstring
from depyf.run.graphs.graph_facts import ConstantFacts, GraphFacts
from depyf.run.graphs.graph_text import GraphClass, attributes_of, imports_of, read_graph
from depyf.run.graphs.script_parts import harness_text
from depyf.safety.escape import printable

_WIDTH = 110


def graph_text(page: str, name: str, title: str, facts: GraphFacts, recorded: frozenset[str]) -> tuple[str, list[str]]:
    """The text of the module that defines ``name``, and the constants that it takes from ``hooks``.

    ``recorded``: the constants whose values are kept in the package.
    """
    graph = read_graph(page, "")
    if graph is None:
        raise CannotRender("its page holds no graph that can be read")
    functions = dict(facts.functions)
    imports, unknown = imports_of([graph], functions)
    if unknown:
        raise CannotRender(f"it calls {', '.join(unknown)}, which belongs to the program")
    hooks: list[str] = []
    if graph.children or attributes_of(graph):
        constants = _constants(name, facts, recorded, hooks)
        class_name = "".join(part.capitalize() for part in name.split("_"))
        body = "\n\n\n".join(class_text(part, class_name, constants) for part in graph.everything())
        body = f"{body}\n\n\n{name} = {class_name}()"
    else:
        body = _function(graph, name)
    lines = sorted({"import torch", *imports}, key=lambda line: (" = " in line, line.startswith("from "), line))
    if "torch.utils.checkpoint." in body:
        lines.insert(1, "import torch.utils.checkpoint")
    if "traced(" in body:
        made, needed = harness_text("traced(")
        lines += needed
        body = f"{made}\n\n\n{body}"
    if hooks:
        lines.append("from .. import hooks")
    if "recorded_constant(" in body:
        lines.append("from ..runtime import recorded_constant")
    docstring = in_docstring(printable(title))
    return f'"""{docstring}"""\n\n' + "\n".join(lines) + f"\n\n\n{body}\n", hooks


def _constants(name: str, facts: GraphFacts, recorded: frozenset[str], hooks: list[str]) -> dict[str, ConstantFacts]:
    """Attribute -> its record; what is too large to be written down, or no data, is looked up."""
    found: dict[str, ConstantFacts] = {}
    for item in facts.constants:
        attribute = item.name
        if item.values is not None or (item.tensor is None and item.text):
            found[attribute] = item
        elif attribute in recorded:
            found[attribute] = ConstantFacts(attribute, "", text=f"recorded_constant({name!r}, {attribute!r})")
        else:
            hook = f"{name}{attribute if attribute.startswith('_') else '_' + attribute}".replace(".", "_")
            hooks.append(hook)
            found[attribute] = ConstantFacts(attribute, "", text=f"hooks.{hook}")
    return found


def _function(graph: GraphClass, name: str) -> str:
    parameters = [f'{p.name}: "{p.type}"' if p.type else p.name for p in graph.parameters]
    head = f"def {name}({', '.join(parameters)}):"
    lines = [head] if len(head) <= _WIDTH else [f"def {name}(", *(f"    {text}," for text in parameters), "):"]
    return "\n".join([*lines, *("    " + line if line else "" for line in graph.body or ("pass",))])
