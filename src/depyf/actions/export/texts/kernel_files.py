"""Inductor's wrapper of a graph -> a module of the package, with its kernels as files beside it.

Input: a wrapper as torch wrote it, and what is known of the graph.  Output: the texts of the files; the wrapper reads
each kernel from its file when it is imported, and has it built as torch would.  Nothing is run here: kernels are string
literals of the wrapper.
"""

from __future__ import annotations

import ast

from depyf.run.graphs.graph_facts import GraphFacts
from depyf.safety.escape import safe_name
from depyf.safety.unheard import parse

_READER = '''
def _source(name):
    """The text of a kernel."""
    return (pathlib.Path(__file__).with_suffix("") / name).read_text(encoding="utf-8")
'''
_ENDINGS = {"cpp": "cpp", "cpp_pybinding": "cpp", "triton": "py", "pallas": "py"}


def why_not(facts: GraphFacts, inputs: int, trained: bool) -> str:
    """Why the wrapper of a graph cannot be called in its place; "" where it can.

    ``facts``: of AOTAutograd's forward graph.  ``inputs``: how many the captured graph takes.  ``trained``: it has a
    backward.
    """
    aot = facts.aot
    if aot is None:
        return "the dump does not say how it is called"
    if trained:
        return "it has a backward, which autograd does"
    if aot.mutated or aot.bases or aot.tokens or aot.subclasses:
        return "AOTAutograd changes inputs or makes views around it"
    if any(kind != "non_alias" for kind in aot.outputs):
        return "an output is a view of an input"
    taken = len(facts.inputs) or aot.inputs  # a cache keeps the count alone
    if taken != inputs:
        return "it takes other inputs than the captured graph"
    return ""


def kernel_files(wrapper: str, name: str) -> dict[str, str]:
    """The files below ``kernels/``: ``name.py``, and each kernel in the folder ``name``.  SyntaxError where ``wrapper``
    is no Python."""
    tree = parse(wrapper)
    lines = [line.encode() for line in wrapper.split("\n")]
    files: dict[str, str] = {}
    found = []
    for node in tree.body:
        call = node.value if isinstance(node, ast.Assign) else None
        method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call) or method not in _ENDINGS:
            continue
        target = node.targets[0]
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and "\n" in argument.value:
                kernel = safe_name(target.id if isinstance(target, ast.Name) else "kernel", 120)
                file = f"{kernel}.{_ENDINGS[method]}"
                files[f"kernels/{name}/{file}"] = argument.value
                found.append((argument, f"_source({file!r})"))
    for argument, text in reversed(found):
        first, last = argument.lineno - 1, (argument.end_lineno or argument.lineno) - 1
        before, after = lines[first][: argument.col_offset], lines[last][argument.end_col_offset :]
        lines[first : last + 1] = [before + text.encode() + after]
    text = b"\n".join(lines).decode()
    start = (
        min([node.lineno for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))], default=1) - 1
    )
    head = text.split("\n")
    text = "\n".join([*head[:start], "import pathlib", "", *_READER.split("\n"), "", *head[start:]])
    parse(text)
    files[f"kernels/{name}.py"] = text
    return files


def caller_text(name: str, title: str) -> str:
    """``graphs/NAME.py`` where the wrapper runs in the place of the graph.  ``title`` is safe within a docstring."""
    return (
        f'"""{title}"""\n\nimport torch\n\nfrom ..kernels.{name} import call\n\n\n'
        f"def {name}(*inputs):\n    with torch.no_grad():\n        return tuple(call(list(inputs)))\n"
    )
