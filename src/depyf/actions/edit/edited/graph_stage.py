"""Put an edited graph into the GraphModule that torch made."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited.edit_trial import plain_copy
from depyf.actions.edit.edited.fake_values import fill_values
from depyf.actions.edit.edited.graph_line_table import keep_at_lines
from depyf.actions.edit.edited.retrace import Retraced, nested_classes, retraced
from depyf.actions.edit.edited_file import EditedFile
from depyf.actions.edit.uses import EditedCompilation
from depyf.sources.live.texts_in_force import tell_of

if TYPE_CHECKING:
    from depyf.actions.edit.edited.edited_run import EditedRun


def exchanged(run: EditedRun, compilation: EditedCompilation, stage: str, module: Any) -> EditedFile | None:
    """Replace the computation of ``module`` by that of its edited file, and return the file; None where there is none.
    EditError, with a line, where the file does not fit."""
    file = run.uses.file_for(compilation, stage, lambda file: printings(module))
    if file is not None:
        before = plain_copy(module) if run.trials is not None else None
        lines = run.checked(_replace_graph, file, module)
        run.exchanged_graph(file, before, module, lines)
        tell_of(compilation.compile_id, stage, str(file.path))
    return file


def _replace_graph(file: EditedFile, module: Any) -> dict[str, int]:
    """The lines of its nodes."""
    subgraphs = edited_subgraphs(file, module)
    made = retraced(file, module)
    fill_values(file, made, module)
    lines = _put(file, made, module)
    for owner, name, new in subgraphs:
        setattr(owner, name, new)
    return lines


def _put(file: EditedFile, made: Retraced, module: Any) -> dict[str, int]:
    made.graph.lint()
    module.graph = made.graph
    lines = {node.name: line for node, line in made.lines.items()}
    keep_at_lines(file, module, lines, made.returns)
    return lines


def edited_subgraphs(file: EditedFile, module: Any) -> list[tuple[Any, str, Any]]:
    """(owner, attribute, new module) of each edited subgraph, a class inside the class of ``module``. torch's modules
    are not changed: another graph may share them.  EditError for a class that is no subgraph."""
    import torch

    found: list[tuple[Any, str, Any]] = []
    for name, part in nested_classes(file):
        own = [line for line in file.lines if part.lineno <= line <= (part.end_lineno or 0)]
        if not own:
            continue
        (*path, last) = name
        owner = module
        for step in path:
            owner = next((new for at, attribute, new in found if at is owner and attribute == step), None) or getattr(
                owner, step, None
            )
        before: Any = getattr(owner, last, None)
        if getattr(before, "graph", None) is None:
            raise EditError(
                file.path, own[0], f"{'.'.join(name)} is no subgraph of this graph: this edit cannot be used"
            )
        new = torch.fx.GraphModule(before, copy.copy(before.graph))
        made = retraced(file, before, name)
        fill_values(file, made, before)
        _put(file, made, new)
        found.append((owner, last, new))
    return found


def printings(module: Any) -> tuple[str, ...]:
    """A graph in each form in which torch's reports print it."""
    found: dict[str, None] = {}
    for options in ({}, {"expanded_def": True}, {"fast_sympy_print": True}):
        try:
            text = module.print_readable(print_output=False, include_stride=True, include_device=True, **options)
        except TypeError:  # a torch that does not have the option
            continue
        found[str(text)] = None
    return tuple(found)
