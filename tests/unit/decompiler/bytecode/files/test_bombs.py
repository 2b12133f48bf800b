"""Small files that expand: what they cost is bounded by their size, else a BytecodeError says what expands too far.

Each is read and decompiled in a process of its own, whose memory is limited and measured, and whose work is counted in
calls: how long those take depends on what else the machine does.
"""

from __future__ import annotations

import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from bombs import BOMBS
from growing import GROWING

resource = pytest.importorskip("resource", reason="this system cannot limit what a process takes")

ROOM, FACTOR = 64 << 20, 200
"""Bytes of memory: so many, and so many for each byte of the file."""
CALLS, CALLS_EACH = 25_000_000, 50
"""Calls of functions, of those in C, too: so many, and so many for each byte of the file."""
SECONDS = 600
"""Of processor time, so that what would never end does.  Nothing is measured by them."""
REFUSED = {
    "shared_tuples", "shared_functions", "one_function_often", "long_names", "long_attributes", "long_locals",
    "long_keywords", "long_constants", "long_tuples", "long_docstrings", "colliding_integers", "colliding_constants", "colliding_complex_numbers",
    "deep_tuples",
}  # fmt: skip
JUMPS = [
    "random_jumps", "random_jumps_forward", "near_jumps", "crossing_jumps", "jumps_ladder_back", "jumps_interleaved", "deep_stack",
]  # fmt: skip
"""Of those that grow: what took most."""

CHILD = """
import _thread, itertools, os, resource, sys
from types import SimpleNamespace
from depyf import decompile_pyc, DepyfError
from depyf.safety import depth

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # of which hundreds of threads reserve 8 MB each
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
calls = itertools.count()  # one count for all threads
counted = ("call", "c_call")

def count(frame, event, arg):
    if event in counted:
        next(calls)

def start_new_thread(work, arguments):
    def run():
        sys.setprofile(count)
        work(*arguments)
    return _thread.start_new_thread(run, ())

def peak():
    if os.path.exists("/proc/self/status"):  # what getrusage says there counts the parent process, too
        with open("/proc/self/status") as file:
            return int(file.read().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

decompile_pyc({other!r})  # what is imported on the way takes memory, too
before = peak()
if {counting}:  # which takes memory, too
    depth._thread = SimpleNamespace(allocate_lock=_thread.allocate_lock, start_new_thread=start_new_thread)
    sys.setprofile(count)
try:
    decompile_pyc({path!r})
    outcome = "decompiled"
except DepyfError as error:
    outcome = type(error).__name__ + " " + str(error)
sys.setprofile(None)
print(outcome)
print(peak() - before)
print(next(calls))
"""


def measured(data: bytes, folder: Path, *, counting: bool) -> tuple[str, int, int]:
    """What comes of ``data``, the bytes of memory that takes, and the calls, if they are counted."""
    path, other = folder / "bomb.pyc", folder / "other.pyc"
    path.write_bytes(data)
    other.write_bytes(GROWING["tries_in_a_row"](8))
    child = CHILD.format(path=str(path), other=str(other), counting=counting, seconds=SECONDS)
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    outcome, kilobytes, calls = done.stdout.splitlines()
    return outcome, int(kilobytes) << 10, int(calls)


@pytest.mark.parametrize("name", BOMBS)
def test_memory(name: str, tmp_path: Path) -> None:
    data = BOMBS[name]()
    outcome, memory, _ = measured(data, tmp_path, counting=False)
    assert memory < ROOM + FACTOR * len(data)
    if name in REFUSED:
        assert outcome.startswith("BytecodeError")
        assert "expand too far" in outcome or "deeply nested" in outcome


@pytest.mark.parametrize("name", JUMPS)
def test_memory_of_jumps(name: str, tmp_path: Path) -> None:
    data = GROWING[name](2000)
    assert measured(data, tmp_path, counting=False)[1] < ROOM + FACTOR * len(data)


def test_memory_is_measured(tmp_path: Path) -> None:
    """The memory of this process, from which the other is started, is not in it."""
    kept = bytearray(b"x") * (256 << 20)
    memory = measured(GROWING["many_cells"](6000), tmp_path, counting=False)[1]
    assert 4 << 20 < memory < len(kept)


@pytest.mark.parametrize("name", BOMBS)
def test_work(name: str, tmp_path: Path) -> None:
    data = BOMBS[name]()
    outcome, _, calls = measured(data, tmp_path, counting=True)
    assert outcome.startswith(("decompiled", "BytecodeError", "TooMuchWork"))
    assert calls < CALLS + CALLS_EACH * len(data)


@pytest.mark.parametrize("depth", [401, 1900, 2100])
def test_constants_nest_as_deep_as_the_interpreter_reads(depth: int) -> None:
    """CPython writes and reads objects 2 000 levels deep."""
    from bombs import MARK, with_marshalled
    from depyf.decompiler.bytecode.files.pyc import unit_of_pyc
    from depyf.errors import BytecodeError

    data = with_marshalled(b")\x01" * depth + b"N", f"x = {MARK!r}")
    try:
        marshal.loads(data[16:])
    except ValueError:
        with pytest.raises(BytecodeError, match="deeply nested"):
            unit_of_pyc(data)
        assert depth > 2000
    else:
        assert unit_of_pyc(data).consts
        assert depth < 2000
