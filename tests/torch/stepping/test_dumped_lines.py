"""Inside ``depyf.debug()`` each call runs the entry that torch would run, with the lines of its file in the dump; outside none does,
and ``depyf.where()`` tells the line of the dump all the same."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pytest
import torch
from dumps import NOT_FOLLOWED, followed, precompiled
from torch._dynamo.utils import counters

import depyf
from depyf.run.places import two_places
from depyf.sources.live.caches.entries import cache_entries

pytestmark = [pytest.mark.torch, pytest.mark.skipif(not followed(), reason=NOT_FOLLOWED)]
RAN = []


@pytest.fixture(autouse=True)
def nobody_there(monkeypatch):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    RAN.clear()


@torch._dynamo.disable
def look(value):
    """Notes who calls it: the file and line that the frame has, and the line in the dump."""
    frame = sys._getframe(1)
    while (
        frame.f_code.co_name not in ("layer", "look_twice", "changes", "<listcomp>")
        and "resume_in" not in frame.f_code.co_name
    ):
        frame = frame.f_back
    place = Path(frame.f_code.co_filename).name, frame.f_lineno
    try:
        where = depyf.where(frame)
    except depyf.DepyfError:  # the dump is not written yet, or has nothing of it
        RAN.append(place)
    else:
        RAN.append((*place, Path(where.file).name, where.line, where.user_line))
    return value


def layer(x, times):
    y = x * times
    y = look(y + 1)
    return y


def same_choice(directory, calls):
    """The files that ran outside; the same must run inside, and nothing is left."""
    with depyf.prepare_debug(directory):
        calls()
    RAN.clear()
    calls()
    outside = RAN.copy()
    codes = two_places.originals()
    before = [(precompiled(code), [id(entry.code) for entry in cache_entries(code)]) for code in codes]
    counted = {name: dict(found) for name, found in counters.items()}
    RAN.clear()
    with depyf.debug():
        calls()
    inside = RAN.copy()
    RAN.clear()
    calls()
    assert outside == RAN
    assert [place[:2] for place in inside] == [place[2:4] for place in outside]
    assert [place[2:] for place in inside] == [place[2:] for place in outside]
    assert {place[0] for place in outside} == {Path(__file__).name}
    assert [place[1] for place in outside] == [place[4] for place in outside]
    after = [(precompiled(code), [id(entry.code) for entry in cache_entries(code)]) for code in codes]
    assert after == before and {name: dict(found) for name, found in counters.items()} == counted
    return [place[2] for place in outside]


def test_entries_of_one_function(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager")

    def calls():
        for times in (1, 2, 3, 2, 1):
            compiled(torch.ones(3), float(times))
            compiled(torch.ones(3), times)
            compiled(torch.ones(4, 2), times)

    assert len(set(same_choice(tmp_path / "dump", calls))) == 3


def test_backends_and_regions_of_one_function(tmp_path):
    torch._dynamo.reset()
    others = (
        [{"isolate_recompiles": True}] if hasattr(torch._C._dynamo.eval_frame, "_get_cache_entries_for_region") else []
    )
    ways = [  # what is isolated falls back to what is not: it comes first
        torch.compile(layer, **way)
        for way in (
            *({"backend": "eager", **other} for other in others),
            {"backend": "eager"},
            {"backend": "aot_eager"},
        )
    ]

    def calls():
        for compiled in (*ways, *reversed(ways)):
            compiled(torch.ones(3), 2)

    files = same_choice(tmp_path / "dump", calls)
    assert len(set(files)) == len(ways) and files == files[::-1]


def test_threads(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager")

    def calls():
        def some():
            for _ in range(20):
                compiled(torch.ones(3), 2)

        threads = [threading.Thread(target=some) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(same_choice(tmp_path / "dump", calls)) == 80


def test_dump_before_the_last(tmp_path):
    torch._dynamo.reset()

    def look_twice(x):
        return look(look(x + 1) * 2)

    compiled = torch.compile(look_twice, backend="eager")
    with depyf.prepare_debug(tmp_path / "first"):
        compiled(torch.ones(2))
    assert len(set(same_choice(tmp_path / "second", lambda: compiled(torch.ones(2))))) == 2


def test_function_that_nothing_can_stand_in_for(tmp_path):
    torch._dynamo.reset()

    def numbers(x):
        return [look(x + number) for number in range(2)]

    codes = [const for const in numbers.__code__.co_consts if isinstance(const, type(numbers.__code__))]
    if sys.version_info >= (3, 12) or not any(name.startswith(".") for code in codes for name in code.co_varnames):
        pytest.skip("comprehensions have no code of their own")
    compiled = torch.compile(numbers, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(torch.ones(2))
    RAN.clear()
    with depyf.debug():
        compiled(torch.ones(2))
    assert not precompiled(numbers.__code__) and RAN


def test_precompile_entries_of_the_program_stay(tmp_path):
    from torch._C._dynamo.eval_frame import _load_precompile_entry, _reset_precompile_entries
    from torch._C._dynamo.guards import RootGuardManager
    from torch._dynamo.guards import GuardManagerWrapper

    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(torch.ones(3), 2)
    root = RootGuardManager()
    root.add_lambda_guard(lambda L: False, ["never"], None)
    _load_precompile_entry(layer.__code__, GuardManagerWrapper(root), layer.__code__)
    RAN.clear()
    with depyf.debug():
        compiled(torch.ones(3), 2)
    assert len(precompiled(layer.__code__)) == 1 and RAN[0][0] == Path(__file__).name
    _reset_precompile_entries(layer.__code__)


def test_what_is_compiled_inside_runs_with_the_lines_of_the_program(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager", dynamic=False)
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(torch.ones(3), 2)
    RAN.clear()
    with depyf.debug():
        for size in (3, 5, 3):
            compiled(torch.ones(size), 2)
    dumped = "__transformed_code_0_0_for_layer.py"
    assert [place[0] for place in RAN] == [dumped, Path(__file__).name, dumped]


def test_code_with_the_lines_of_the_dump_ends_with_the_block(tmp_path):
    def dumped():
        codes = [known.code() for known in two_places._known.values() if known.dumped]
        return [code for code in codes if code is not None and code.co_filename.startswith(str(tmp_path))]

    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="eager")
    with depyf.prepare_debug(tmp_path / "dump"):
        compiled(torch.ones(2), 2)
    running = cache_entries(layer.__code__)[0].code
    counted = sys.getrefcount(running)
    with depyf.debug():
        compiled(torch.ones(2), 2)
        assert dumped()
    gc.collect()
    assert not dumped()
    assert sys.getrefcount(running) == counted
