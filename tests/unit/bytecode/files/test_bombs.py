"""Small files that expand: what they cost is bounded by their size, else a BytecodeError says what expands too far.

Each is read and decompiled in a process of its own, whose memory and processor time are limited and measured.
"""

from __future__ import annotations

import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from bombs import BOMBS

resource = pytest.importorskip("resource", reason="this system cannot limit what a process takes")

ROOM, FACTOR = 64 << 20, 200
"""Bytes of memory: so many, and so many for each byte of the file."""
SECONDS = 30
"""Of processor time, on a slow machine; without limits each of these took minutes."""
REFUSED = {
    "shared_tuples", "shared_functions", "one_function_often", "long_names", "long_attributes", "long_locals",
    "long_keywords", "long_constants", "long_tuples", "long_docstrings", "colliding_integers", "colliding_constants", "colliding_complex_numbers",
    "deep_tuples",
}  # fmt: skip

CHILD = """
import resource, sys
from depyf import decompile_pyc, DepyfError
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decompile_pyc({path!r})
    print("decompiled")
except DepyfError as error:
    print(type(error).__name__, error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.pyc"
    path.write_bytes(BOMBS[name]())
    child = CHILD.format(path=str(path), seconds=SECONDS)
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    outcome, kilobytes = done.stdout.splitlines()
    assert int(kilobytes) << 10 < ROOM + FACTOR * path.stat().st_size
    assert outcome.startswith("BytecodeError" if name in REFUSED else ("decompiled", "BytecodeError"))
    if name in REFUSED:
        assert "expand too far" in outcome or "deeply nested" in outcome


@pytest.mark.parametrize("depth", [401, 1900, 2100])
def test_constants_nest_as_deep_as_the_interpreter_reads(depth: int) -> None:
    """CPython writes and reads objects 2 000 levels deep."""
    from bombs import MARK, with_marshalled
    from depyf.bytecode.files.pyc import unit_of_pyc
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
