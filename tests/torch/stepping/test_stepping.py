"""A real pdb, fed by a pipe, stops on lines of the dumped files when that code runs."""

from __future__ import annotations

import re
import types

import pytest
from dumps import followed, run_python

from depyf.sources.live.caches.code_exchange import same_bytecode

pytestmark = pytest.mark.torch

SCRIPT = """
import sys
import torch
import depyf.api as depyf
from torch_programs import PROGRAMS
backend, directory = sys.argv[1:]
compiled = {}
def once(fn):
    return compiled.setdefault("fn", torch.compile(fn, backend=backend))
def main():
    PROGRAMS["toy_grad"](once)
with depyf.prepare_debug(directory):
    main()
with depyf.debug():
    main()
print("LEFT")
main()
sys.exit(0)
"""

FILES = {
    "eager": {"Captured_Graph.0": "= torch.abs(", "transformed": ""},
    "aot_eager": {
        "Forward_graph.0": "= torch.ops.aten.abs.default(",
        "Backward_graph.0": "= torch.ops.aten.neg.default(",
    },
    "inductor": {"kernel_0": "args.clear()", "kernel_1": "args.clear()", "transformed": ""},
}


def line_of(path, text):
    """The first line of ``path`` that holds ``text``; for a transformed function its first statement."""
    lines = path.read_text().splitlines()
    if text:
        return next(number for number, line in enumerate(lines, 1) if text in line)
    head = next(number for number, line in enumerate(lines, 1) if line.endswith("):") and line[0] != "#")
    return head + 1


@pytest.mark.parametrize("backend", list(FILES))
def test_pdb_stops_in_dumped_files(backend, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    dump = tmp_path / "dump"
    assert run_python(str(script), backend, str(dump)).returncode == 0  # to know the line numbers
    places = []
    for name, text in FILES[backend].items():
        if name == "transformed" and not followed():
            continue  # torch before 2.9 has no place for a second form of what Dynamo made
        file = "__transformed_code_0_0_for_toy_function.py" if name == "transformed" else f"__compiled_fn_0_0.{name}.py"
        places.append((dump / file, line_of(dump / file, text)))
    commands = ["continue", *(f"tbreak {path}:{line}" for path, line in places), "continue"]
    for _ in places:
        commands += ["where", "p 'LOCALS', sorted(locals())", "next", "continue"]
    done = run_python(
        str(script), backend, str(dump), stdin="\n".join([*commands, "quit", "quit"]) + "\n", options=("-m", "pdb")
    )
    out = done.stdout
    for path, line in places:
        assert "Deleted breakpoint" in out
        assert f"> {path}({line})" in out, out[-4000:]
        following = out.split(f"> {path}({line})", 1)[1]
        stepped = re.search(rf"> {re.escape(str(path))}\((\d+)\)", following.split("LOCALS", 1)[1])
        assert stepped, "next stays in the file"
        # what torch 2.6 makes of a function may be one line, from which next returns
        assert int(stepped.group(1)) != line or "--Return--" in following
    before_exit, left = out.split("LEFT", 1)
    assert str(dump) in before_exit
    assert "__compiled_fn" not in left, "after debug() nothing is redirected any more"


def test_debug_restores_and_does_not_pause(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        SCRIPT.replace(
            'print("LEFT")',
            "from depyf.contexts import _Current\n"
            "names = {m.module.__class__.forward.__code__.co_filename for m in _Current.last.live_graphs()}\n"
            "assert names and all(n.startswith('<eval_with_key>') for n in names), names",
        )
    )
    done = run_python(str(script), "aot_eager", str(tmp_path / "dump"))
    assert done.returncode == 0, done.stderr
    assert "__compiled_fn_0_0.Backward_graph.0.py" in done.stdout
    assert "set breakpoints now" not in done.stdout


def test_same_bytecode_on_other_lines():
    """torch prints a graph over several lines; since Python 3.13 that alone makes other bytes of it."""

    def compiled(text):
        return next(c for c in compile(text, "<graph>", "exec").co_consts if isinstance(c, types.CodeType))

    run = compiled("def forward(a, b, c):\n    d = a + b\n    return (d, b, c, 1)\n")
    printed = compiled(
        "def forward(\n    a,\n    b,\n    c,\n):\n    d = a + b\n    return (\n        d,\n        b,\n        c,\n        1,\n    )\n"
    )
    other = compiled(
        "def forward(a, b, c):\n    d = a + b\n    return (\n        d,\n        c,\n        b,\n        1,\n    )\n"
    )
    assert same_bytecode(run, printed)
    assert not same_bytecode(run, other)
