"""One graph of a dump -> one module of a package.

Input: a page of a graph.  Output: text that needs torch only: a function, or a module with ``torch.nn.Module`` classes
where the graph has inner graphs or constants.  Raises ``CannotRender`` where the page is no graph.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.actions.scripts.carried_text import carried_text, import_lines, import_order, names_in
from depyf.actions.scripts.classes import graph_code, signature
from depyf.actions.scripts.input_table import CannotRender
from depyf.decompiler.emit.comments import in_docstring
from depyf.run.graphs.graph_facts import ConstantFacts, GraphFacts
from depyf.run.graphs.graph_text import attributes_of, read_graph
from depyf.safety.escape import printable


def graph_text(page: str, name: str, title: str, facts: GraphFacts, recorded: frozenset[str]) -> tuple[str, list[str]]:
    """The text of the module that defines the graph ``name``, and the constants that it reads from ``hooks``.
    ``recorded``: the constants whose values are in the package.  CannotRender for a page without a readable graph."""
    graph = read_graph(page, "")
    if graph is None:
        raise CannotRender("its page holds no graph that can be read")
    hooks: list[str] = []
    constants = _constants(name, facts, recorded, hooks)
    class_name = "".join(part.capitalize() for part in name.split("_"))
    classes, imports = graph_code([(graph, class_name, replace(facts, constants=constants))])
    if graph.children or attributes_of(graph):
        body = "\n\n\n".join([*classes, f"{name} = {class_name}()"])
    else:
        lines = ["    " + line if line else "" for line in graph.body or ("pass",)]
        body = "\n".join([*signature(name, graph), *lines])
    if "traced(" in body:
        made = carried_text(["traced"])
        imports += import_lines(names_in(made))
        body = f"{made}\n\n\n{body}"
    lines = sorted({*imports}, key=import_order)
    if hooks:
        lines.append("from .. import hooks")
    if "recorded_constant(" in body:
        lines.append("from ..runtime import recorded_constant")
    docstring = in_docstring(printable(title))
    return f'"""{docstring}"""\n\n' + "\n".join(lines) + f"\n\n\n{body}\n", hooks


def _constants(name: str, facts: GraphFacts, recorded: frozenset[str], hooks: list[str]) -> tuple[ConstantFacts, ...]:
    """What is too large to be written down, or no data, is looked up."""
    found = []
    for item in facts.constants:
        attribute = item.name
        if item.values is not None or (item.tensor is None and item.text):
            found.append(item)
        elif attribute in recorded:
            found.append(ConstantFacts(attribute, "", text=f"recorded_constant({name!r}, {attribute!r})"))
        else:
            hook = f"{name}{attribute if attribute.startswith('_') else '_' + attribute}".replace(".", "_")
            hooks.append(hook)
            found.append(ConstantFacts(attribute, "", text=f"hooks.{hook}"))
    return tuple(found)
