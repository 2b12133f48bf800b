"""ipdb in a pseudo-terminal, and PyCharm's debugger over its own protocol, stop in dumped files and step there."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import pytest
from dumps import ROOT, followed
from terminal import Terminal

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import torch
import depyf
def layer(x, w):
    h = torch.tanh(x @ w)
    print("between")
    return (h * w.sum()).sum()
fn = torch.compile(layer, backend=sys.argv[1])
def main():
    fn(torch.ones(2, 3), torch.eye(3, requires_grad=True)).backward()
with depyf.prepare_debug(sys.argv[2]):
    main()
with depyf.debug():
    main()
print("LEFT")
"""


def test_ipdb(tmp_path):
    pytest.importorskip("ipdb")
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    terminal = Terminal(
        [str(script), "aot_eager", str(dump)], prompt="ipdb> ",
        env={"PYTHONBREAKPOINT": "ipdb.set_trace", "IPDB_CONTEXT_SIZE": "1", "NO_COLOR": "1", "HOME": str(tmp_path),
             "IPY_TEST_SIMPLE_PROMPT": "1"},
    )  # fmt: skip
    for file, text, name in (
        *([("full_code_for_layer_0.py", "if guards_0_0(", "L")] if followed() else []),
        ("__transformed_code_0_0_for_layer.py", "= __compiled_fn_0_0(", "x"),
        ("__compiled_fn_0_0.Forward_graph.0.py", "aten.tanh.default(", "mm"),
        ("__compiled_fn_0_0.Backward_graph.0.py", "= torch.ops.aten.", "tangents_1"),
    ):
        line = terminal.line(file, text, directory=dump)
        terminal.command(f"tbreak {dump / file}:{line}", "reakpoint")
        terminal.command("c", f"{file}({line})")
        terminal.command(f"p 'ensor' in str({name})", "True")
        terminal.command("import depyf; print(depyf.where())", f"{dump / file}:{line}")
        if not file.startswith("__transformed"):  # there, the next line is after the graph
            terminal.command("n", file)
    terminal.child.sendline("c")
    assert "LEFT" in terminal.end()


class PyCharm:
    """The IDE's side of pydevd's protocol: lines of ``command TAB sequence TAB arguments``."""

    SET_BREAK, RUN, STEP_INTO, STEP_OVER, RESUME, SUSPENDED, EVALUATE = 111, 101, 107, 108, 106, 105, 113

    def __init__(self, program: Path, args: list[str]) -> None:
        debugpy = pytest.importorskip("debugpy")
        pydevd = Path(debugpy.__file__).parent / "_vendored" / "pydevd" / "pydevd.py"
        server = socket.create_server(("127.0.0.1", 0))
        environment = dict(os.environ) | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
            "PYTHONWARNINGS": "ignore", "IDE_PROJECT_ROOTS": str(program.parent),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, str(pydevd), "--client", "127.0.0.1", "--port", str(server.getsockname()[1]),
             "--file", str(program), *args],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        server.settimeout(120)
        self.socket, _ = server.accept()
        server.close()
        self.messages: queue.Queue[list[str] | None] = queue.Queue()
        self.number = 1
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, command: int, *arguments: str) -> None:
        self.number += 2  # the IDE's numbers are odd
        self.socket.sendall(("\t".join([str(command), str(self.number), *(arguments or [""])]) + "\n").encode())

    def wait(self, command: int) -> str:
        """The arguments of the next message of this kind."""
        while True:
            message = self.messages.get(timeout=240)
            assert message is not None, f"pydevd has ended: {self.process.communicate()[0]}"
            if int(message[0]) == command:
                return urllib.parse.unquote(urllib.parse.unquote("\t".join(message[2:])))

    def stopped(self) -> tuple[str, str]:
        """Wait for a stop: (its frames as the protocol tells them, the thread)."""
        text = self.wait(self.SUSPENDED)
        return text, text.partition('thread id="')[2].partition('"')[0]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.socket.close()

    def _read(self) -> None:
        with self.socket.makefile("r", encoding="utf-8") as lines:
            try:
                for line in lines:
                    self.messages.put(line.rstrip("\n").split("\t"))
            except OSError:
                pass
        self.messages.put(None)


def test_pycharm(tmp_path):
    script, dump = tmp_path / "program.py", tmp_path / "dump"
    script.write_text(PROGRAM)
    ide = PyCharm(script, ["eager", str(dump)])
    try:
        ide.send(501, "0.1", "UNIX", "ID")  # CMD_VERSION
        ide.send(ide.RUN)
        stop, thread = ide.stopped()
        assert "program.py" in stop.partition("<frame")[2].partition(">")[0]
        for file, text, function in (
            *([("full_code_for_layer_0.py", "if guards_0_0(", "layer")] if followed() else []),
            ("__transformed_code_0_0_for_layer.py", "= __compiled_fn_0_0(", "layer"),
            ("__compiled_fn_0_0.Captured_Graph.0.py", "= torch.tanh(", "forward"),
        ):
            line = Terminal.line(file, text, directory=dump)
            ide.send(ide.SET_BREAK, "1", "python-line", str(dump / file), str(line), "None", "None", "None")
            ide.send(ide.RESUME, thread)
            stop, thread = ide.stopped()
            top = stop.partition("<frame")[2].partition(">")[0]
            assert file in top and f'line="{line}"' in top and f'name="{function}"' in top, stop
            if file.startswith("__transformed"):  # there, the next line is after the graph
                continue
            ide.send(ide.STEP_OVER, thread)
            stop, thread = ide.stopped()
            after = stop.partition("<frame")[2].partition(">")[0]
            assert file in after and f'line="{line}"' not in after, stop
        ide.send(ide.RESUME, thread)
        output, _ = ide.process.communicate(timeout=240)
        assert "LEFT" in output
    finally:
        ide.close()
