"""Put edited kernels back into the text of their wrapper."""

from __future__ import annotations

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile
from depyf.safety.unheard import parse
from depyf.views.pages.kernels import kernel_nodes


def with_kernels(wrapper: str, kernels: list[EditedFile]) -> str:
    """``wrapper`` with the text of each file in the place of the kernel of its name.  EditError where there is none."""
    nodes = kernel_nodes(parse(wrapper))
    lines = wrapper.encode().split(b"\n")  # columns of the parser count bytes
    changes = []
    for file in kernels:
        name = file.name.removeprefix(file.of.removesuffix(".py") + ".").rpartition(".")[0]
        node = nodes.get(name)
        if node is None:
            line = file.lines[0] if file.lines else 1
            raise EditError(file.path, line, f"{file.of} has no separate kernel {name}: edit that file instead")
        changes.append(
            (node.lineno, node.col_offset, node.end_lineno or 1, node.end_col_offset or 0, _literal(file.text))
        )
    for line, column, end, end_column, literal in sorted(changes, reverse=True):
        first, last = lines[line - 1][:column], lines[end - 1][end_column:]
        lines[line - 1 : end] = [first + literal.encode() + last]
    return b"\n".join(lines).decode()


def _literal(text: str) -> str:
    """The text as a literal in Inductor's style, where that is possible."""
    return repr(text) if "'''" in text or text.endswith(("'", "\\")) else f"r'''\n{text}'''"
