"""A log that is damaged in any way gives a run, and no error but ours."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depyf.errors import DepyfError
from depyf.sources.trace_log.log_files import find_logs
from depyf.sources.trace_log.log_runs import read_log
from trace_logs import small_log

LOG = small_log("/p/train.py").text.encode()
WHOLE = 2


def compilations(data: bytes) -> int | None:
    """None where there is no log left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        path.write_bytes(data)
        try:
            (log,) = find_logs(path).logs.values()
        except DepyfError:
            return None
        return read_log(log).run.compilations


def test_whole() -> None:
    assert compilations(LOG) == WHOLE


@settings(max_examples=60)
@given(st.integers(0, len(LOG)))
def test_cut(end: int) -> None:
    assert compilations(LOG[:end]) in (None, 0, 1, 2)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_bytes_changed(seed: int, count: int) -> None:
    chance, data = random.Random(seed), bytearray(LOG)
    for _ in range(count):
        data[chance.randrange(len(data))] = chance.choice(b'\n\t{}[]",:0 \xff\x00x')
    found = compilations(bytes(data))
    assert found is None or 0 <= found <= WHOLE + 1


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_lines_lost_doubled_and_in_another_order(seed: int) -> None:
    chance, lines = random.Random(seed), LOG.splitlines(keepends=True)
    for _ in range(chance.randrange(1, 6)):
        one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
        chance.choice((
            lambda: lines.pop(one), lambda: lines.insert(two, lines[one]), lambda: lines.reverse() if two % 7 == 0 else None
        ))()  # fmt: skip
        if len(lines) < 3:
            break
    found = compilations(b"".join(lines))
    assert found is None or found >= 0


@pytest.mark.parametrize("kind", ["dynamo_start", "create_symbol", "guard_added", "compilation_metrics", "chromium_event", "str",
                                  "describe_tensor", "describe_source", "symbolic_shape_specialization", "dynamo_error"])  # fmt: skip
@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1, 2], ["a", "b"], {}, {"stack": {}}, {"user_stack": [[]]}, {"id": []}, {"name": 3}]
)
def test_records_of_any_form(kind: str, value: object) -> None:
    log = small_log("/p/train.py")
    log.add({kind: value}, "x", "0/0")
    log.compiled("1/0", "/p/train.py")
    assert compilations(log.text.encode()) in (WHOLE, WHOLE + 1)
