"""``depyf run`` hears what threads compile after the main thread has ended, up to the last of them."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch

PROGRAM = """
import atexit, concurrent.futures, sys, threading
import torch

@torch.compile(backend="eager")
def late(x):
    return x + 1

def work():
    threading.main_thread().join()
    late(torch.ones(2))
    print("the thread ends", flush=True)

threading.Thread(target=work).start()
idle = concurrent.futures.ThreadPoolExecutor(1)
idle.submit(int)
atexit.register(print, "the exit")
print("the main thread ends", flush=True)
END
"""


@pytest.mark.parametrize(
    ("end", "status", "says"), [("", 0, ""), ("sys.exit(3)", 3, ""), ("raise KeyError(4)", 1, "KeyError: 4")]
)
def test_the_dump_has_what_threads_compile(tmp_path, end, status, says):
    (tmp_path / "program.py").write_text(PROGRAM.replace("END", end))
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "run", "--out", "dump", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["the main thread ends", "the thread ends", "the exit"]
    assert done.returncode == status and says in done.stderr
    assert "depyf: 1 compiled function; read dump/index.md first" in done.stderr
    manifest = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    assert [function["function"] for function in manifest["functions"]] == ["late"] and manifest["notes"] == []
