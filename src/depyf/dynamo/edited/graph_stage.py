"""Put an edited graph into the GraphModule that torch made."""

from __future__ import annotations

from typing import Any

from depyf.dynamo.edited.fake_values import fill_values
from depyf.dynamo.edited.retrace import retraced
from depyf.edit.edited_files import EditedFile


def replace_graph(file: EditedFile, module: Any) -> None:
    """``module`` computes what ``file`` says from now on.  EditError, at a line, where that cannot be."""
    made = retraced(file, module)
    fill_values(file, made, module)
    made.graph.lint()
    module.graph = made.graph


def run_as_file(file: EditedFile, module: Any, compiled: Any) -> None:
    """Where the graph itself is what runs, make its lines those of ``file``, for debuggers."""
