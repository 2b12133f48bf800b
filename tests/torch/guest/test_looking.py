"""Guards are read and evaluated without a trace in the program, and read the same in every run."""

import collections
import runpy
import sys

import pytest
import torch
from dumps import check_dump, check_substituted, followed

import depyf
from depyf.run.addresses import without_addresses
from depyf.run.reprs import sets_in_order
from depyf.sources.live.guards.check_functions import class_named, shows_as
from depyf.sources.live.guards.guard_tree import Globals
from depyf.sources.live.guards.printed_guards import readable

pytestmark = pytest.mark.torch


def grouped(x, keys):
    groups = collections.defaultdict(list)
    for key in keys:
        groups[key].append(x[key])
    torch._dynamo.graph_break()
    return {key: torch.stack(parts) for key, parts in groups.items()}


def test_no_item_is_made_where_a_defaultdict_has_none(tmp_path, monkeypatch):
    """The guards of the rest of the function look at ``groups[0]``; in the next call there is none."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    compiled = torch.compile(grouped, backend="eager")
    x = torch.arange(3.0)
    with depyf.prepare_debug(tmp_path):
        compiled(x, [0, 0])
    want = compiled(x, [1])
    for call in (compiled, depyf.replay(compiled), depyf.replay(tmp_path / "full_code_for_grouped_0.py")):
        before = sys.gettrace()
        with depyf.debug():
            if followed():  # a debugger that could stop: pages are followed
                sys.settrace(lambda *_: None)
            try:
                got = call(x, [1])
            finally:
                sys.settrace(before)
        assert list(got) == list(want) and all(torch.equal(got[key], want[key]) for key in want)


def test_an_argument_that_is_a_defaultdict():
    def f(x, d):
        return x * d["scale"]

    compiled = torch.compile(f, backend="eager")
    compiled(torch.ones(2), collections.defaultdict(float, scale=2.0))
    empty = collections.defaultdict(float)
    answer = depyf.why(compiled, torch.ones(2), empty)
    assert answer.runs is None and empty == {}


def test_sets_are_shown_in_order():
    shown = "frozenset({<function namedtuple at 0xADDR>, <class 'list'>, 'a, b', (3, {2, 1})})"
    assert sets_in_order(shown) == "frozenset({'a, b', (3, {1, 2}), <class 'list'>, <function namedtuple at 0xADDR>})"
    assert sets_in_order("{'b': {2, 1}, 'a': 0}") == "{'b': {1, 2}, 'a': 0}"
    assert sets_in_order("{b") == "{b"
    made = readable("EQUALS_MATCH", "L['k'] == frozenset({<function f at 0x7f0123456789>, <class 'int'>})")
    assert made == "shows_as(L['k'], \"frozenset({<class 'int'>, <function f at 0xADDR>})\")"

    def f():
        pass

    assert shows_as({f, int}, f"{{<class 'int'>, <function {f.__qualname__} at 0xADDR>}}")


def test_classes_of_the_interpreter():
    made = readable("SET_NOT_CONTAINS", "not ___set_contains(G['known'], <class 'NoneType'>)")
    assert "NoneType" not in made
    assert class_named("function") is type(lambda: 0) and class_named("int") is int
    with pytest.raises(LookupError):
        class_named("nothing")


def counts(x, seen, y):
    z = x + 1
    seen["calls"] += 1
    if z.sum() > 0:
        return z + y
    return z - y


def test_a_dictionary_that_is_written_back_in_a_loop(tmp_path):
    """Dynamo leaves what it hands on below the loop on the stack."""
    seen = collections.Counter()
    with depyf.prepare_debug(tmp_path):
        assert torch.compile(counts, backend="eager")(torch.ones(2), seen, torch.ones(2)).tolist() == [3, 3]
    assert seen == {"calls": 1}
    check_substituted(check_dump(tmp_path))
    path = tmp_path / "__transformed_code_0_0_for_counts.py"
    if torch.__version__.startswith("2.8.") and not path.exists():
        pytest.skip("this torch does not compile what adds a key to a Counter")
    text = path.read_text()
    assert "in entries.items():" in text or 'seen["calls"] = 1' in text  # torch 2.6
    assert "[()]" not in text and "items[0]" not in text


@torch._dynamo.disable
def note(x):
    pass


def twice(x, items):
    try:
        for number in items:
            x = x + number
            if number == 3:
                raise KeyError(number)
    finally:
        print("here")
    return x


def test_one_break_that_torch_describes_in_two_ways(tmp_path):
    def noted(x):
        for _ in range(2):
            note(x)
        return x + 1

    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(twice, backend="eager")
        compiled(torch.ones(2), [1, 2])
        with pytest.raises(KeyError):
            compiled(torch.ones(2), [1, 3])
        noted_too = torch.compile(noted, backend="eager")
        noted_too(torch.ones(2))
    index = (tmp_path / "index.md").read_text()
    check_dump(tmp_path)
    for section in ("## Fix first\n", "## Graph breaks\n"):
        assert index.partition(section)[2].partition("\n## ")[0].count('`print("here")`: print() writes') == 1
    report = depyf.explain(compiled)
    assert all("print() writes" in item.cause or "keeps no cause" in item.cause for item in report.breaks)
    said = str(depyf.explain(noted_too))
    assert "0x" not in said
    assert "excluded from compilation" in said or "this torch keeps no reason" in said


def test_a_page_indexes_where_the_program_did(tmp_path):
    def row(x, number):
        return x[number] + 1

    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(row, backend="eager")
        compiled(torch.ones(4, 2), 2)
        compiled(torch.ones(4, 2), 3)
    pages = [path.read_text() for path in sorted(tmp_path.glob("__compiled_fn_*.py"))]
    assert any("        3,  # " in page for page in pages)


def test_a_page_has_the_numbers_that_torch_passes_as_tensors(tmp_path):
    def dropped(x, p):
        return torch.nn.functional.dropout(x, p, True)

    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(dropped, backend="eager")
        compiled(torch.ones(4), 0.5)
        compiled(torch.ones(4), 0.25)
    pages = [path.read_text() for path in sorted(tmp_path.glob("__compiled_fn_*.py"))]
    assert any("torch.tensor(0.25, dtype=torch.float64)," in page for page in pages)


@pytest.mark.skipif(not hasattr(torch._dynamo, "error_on_graph_break"), reason="this torch has no such setting")
def test_a_break_that_must_be_an_error_is_one(tmp_path):
    def strict(x):
        with torch._dynamo.error_on_graph_break(True):
            print("here")
        return x + 1

    with depyf.prepare_debug(tmp_path), pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(strict, backend="eager")(torch.ones(2))
    index = (tmp_path / "index.md").read_text()
    assert "torch raised an error" in index and "Ran as ordinary Python" not in index


@torch._dynamo.allow_in_graph
def opaque(x):
    return x + 1


def test_a_page_runs_with_the_recorded_sizes_and_not_where_it_calls_the_program(tmp_path):
    table = {5: torch.ones(5), 7: torch.ones(7)}

    def f(x, n):
        return x.view(-1) + table[n]

    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(f, backend="eager")
        compiled(torch.ones(5, 1), 5)
        compiled(torch.ones(7, 1), 7)
        torch.compile(lambda x: opaque(x) * 2, backend="eager")(torch.ones(2))
    runs = 0
    for path in tmp_path.glob("__compiled_fn_*.py"):
        if "opaque" in path.read_text():
            assert "__main__" not in path.read_text()
        else:
            runpy.run_path(str(path), run_name="__main__")
            runs += 1
    assert runs == 2


def test_an_optimizer_is_named_without_its_addresses():
    name = "__optimizer_140086971341712_140086969506832_c32"
    assert without_addresses(f"G['{name}']() is not None") == "G['__optimizer_c32']() is not None"
    assert Globals({name: 1})["__optimizer_c32"] == 1


def test_what_reads_local_variables_sees_those_of_dynamos_code(tmp_path):
    """An added temporary would be one more; where none is needed the text runs."""
    seen = []

    def looks(x, seen):
        y = x + 1
        exec("seen.append(sorted(locals()))")
        return y + eval("y + 1")

    want = torch.compile(looks, backend="eager")(torch.ones(2), seen)
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        got = torch.compile(looks, backend="eager")(torch.ones(2), seen)
    assert torch.equal(want, got) and seen[0] == seen[1]
    resumed = next(tmp_path.glob("__transformed_code_1_0_for_torch_dynamo_resume_*.py")).read_text()
    assert '["eval"]("y + 1"))' in resumed
