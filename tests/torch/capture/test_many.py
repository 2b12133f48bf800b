"""What a recording costs where there is much of it: files grow with what was compiled, and nothing stays that torch has dropped."""

import collections
import gc

import pytest
import torch
from dumps import check_dump

import depyf
from depyf.run.causes.collect import causes_of
from depyf.run.files.manifest import manifest_page
from depyf.run.trace_events import TraceEvent
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.snapshot import freeze
from depyf.views.pages.index import index_pages
from depyf.views.pages.run_data import RunFindings
from depyf.views.pages.shapes import shapes_page

pytestmark = pytest.mark.torch


def remainder(xs):
    t = torch.cat(xs)
    if t.shape[0] % 7 == 0:
        t = t + 1
    return t.sum()


def sizes_of_dump(folder, count):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        torch.compile(remainder, backend="eager", dynamic=True)([torch.ones(3 + i) for i in range(count)])
    check_dump(folder)
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.name != "timings.json"}


def test_files_grow_with_the_symbols(tmp_path):
    few, many = (sizes_of_dump(tmp_path / str(count), count) for count in (30, 120))
    for sizes in (few, many):  # what is short stands in the index, what is long has a page
        sizes["index.md"] = sum(sizes.pop(name) for name in [*sizes] if name.endswith(".md"))
    for name, size in many.items():
        assert size < 5.5 * few[name], name
    shapes = next(path for name in ("shapes.md", "index.md") if (path := tmp_path / "120" / name).exists()).read_text()
    assert "% 7" in shapes or "Mod(" in shapes


def heard(count, steps):
    """A compilation of ``count`` symbols, of whose sums the program asks something ``steps`` times, all in one long line."""
    capture = Capture(lambda record: None, lambda record: None)
    line = " + ".join(f"x{n}.shape[0]" for n in range(count))
    stack = [{"filename": "program.py", "line": 3, "name": "f", "loc": line}]
    capture.handle(TraceEvent("dynamo_start", "0/0", 0, {"stack": stack}, ""))
    for n in range(count):
        data = {"symbol": f"s{n}", "source": f"L['x{n}'].size()[0]", "val": str(n), "vr": "[2, 9]", "user_stack": stack}
        capture.handle(TraceEvent("create_symbol", "0/0", 0, data, ""))
    for step in range(steps):
        names = [f"s{n}" for n in range(count * (step + 1) // steps)]
        data = {"expr": f"{' + '.join(names)} > {step}", "user_stack": stack}
        capture.handle(TraceEvent("guard_added", "0/0", 0, data, ""))
    run = freeze(capture)
    causes = causes_of(run)
    pages = index_pages(RunFindings(run), causes, {}, {})
    index = "".join(pages[name] for name in sorted(pages)) + shapes_page(RunFindings(run))
    return index, manifest_page(run, causes, {}, frozenset(), frozenset(), {})


@pytest.mark.parametrize("steps", (1, 400))
def test_pages_of_hundreds_of_symbols(steps):
    few, many = heard(400, steps), heard(2000, steps)
    for small, large in zip(few, many):
        assert len(large) < 5.5 * len(small) and len(small) < 600_000
    assert "s1" in few[0] and f" > {steps - 1}" in few[1]
    assert " > 0" in few[0] if steps == 1 else "more conditions of torch's say nothing new" in few[0]


def compiled_and_dropped(count):
    for number in range(count):
        names = {}
        exec(f"def f{number}(x, y):\n    z = x.sin() + {number}\n    return z * y\n", names)
        torch.compile(names[f"f{number}"], backend="eager")(torch.ones(2), torch.ones(2))
        torch._dynamo.reset()


def kept(run):
    """How many more objects there are, by class, after ``run(80)`` than after ``run(20)``."""
    counts = []
    for count in (20, 20, 80):
        run(count)
        gc.collect()
        gc.collect()
        counts.append(collections.Counter(str(type(found)) for found in gc.get_objects()))
    return counts[2] - counts[1]


def test_what_torch_has_dropped_does_not_stay(tmp_path):
    def recorded(count):
        with depyf.prepare_debug(tmp_path / str(count)):
            compiled_and_dropped(count)

    plain, dumped = kept(compiled_and_dropped), kept(recorded)
    assert sum(number for name, number in dumped.items() if "depyf" in name) < 30  # of the session itself
    more = sum(dumped.values()) - sum(plain.values())
    assert more < 80, dumped - plain  # less than one for each function


def test_a_recording_that_goes_on_knows_what_was_dropped(tmp_path):
    def pages():
        return {
            path.name: path.read_text()
            for path in tmp_path.iterdir()
            if path.name not in ("timings.json", "index.md", "manifest.json")
        }

    def broken(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    with depyf.prepare_debug(tmp_path):
        torch.compile(broken, backend="eager")(torch.ones(2))
    before = pages()
    torch._dynamo.reset()
    del broken
    with depyf.prepare_debug(tmp_path):
        torch.compile(remainder, backend="eager")([torch.ones(2)])
    after = pages()
    check_dump(tmp_path)
    assert {name for name in before if "original_code" in name} <= set(after)
    for name in before:
        if name.startswith(("__original_code", "__transformed_code")):
            assert after[name] == before[name], name
