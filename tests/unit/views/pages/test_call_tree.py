"""The text of the call tree, from records."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.made import Made
from depyf.run.places.place import Place
from depyf.run.records import CallerRecord, CodeRecord, CompileKey, EntryRecord, FunctionRecord
from depyf.run.run import Run
from depyf.views.pages.call_tree import call_tree_page, call_tree_section, folded_states


def entry(key: str, *callers: CallerRecord, failed: str = "", raised: bool = False) -> EntryRecord:
    return EntryRecord(CompileKey(0, key), None, (), "none", callers=callers, failed=failed, raised=raised)


def function(number: str, name: str, *entries: EntryRecord, resume_of: str | None = None) -> FunctionRecord:
    record = CodeRecord(name, name, "/p/train.py", 10 * int(number) + 1, (), (), (), None, None, ())
    return FunctionRecord((0, number), record, entries, None if resume_of is None else (0, resume_of))


def called(number: str, line: int) -> CallerRecord:
    return CallerRecord(Place("/p/train.py", line, f"f{number}", "f(x)"), (0, number))


def run(*functions: FunctionRecord) -> Run:
    return Run("2.13", "3.11", functions, (), ())


def test_states_are_folded():
    states = [("0/0", "ok"), ("0/1", "broke"), ("0/2", "broke"), ("0/3", "broke"), ("0/4", "failed")]
    assert folded_states(states) == "0/0 ok, 0/1 ... 0/3 broke, 0/4 failed"


def test_the_rest_of_a_function_is_flat_below_it_and_recursion_stands_once():
    chain = [called("0", 3), called("1", 4), called("2", 5)]
    tree = call_tree_section(
        run(
            function("0", "f0", entry("0/0")),
            function("1", "rest", entry("1/0", *chain[:1]), resume_of="0"),
            function("2", "rest", entry("2/0", *chain[:2]), resume_of="0"),
            function(
                "3", "g", entry("3/0", *chain, called("0", 3), failed="x"), entry("3/1", called("9", 1), called("3", 8))
            ),
        )
    )
    assert [text.partition("- ")[0] for text in tree] == ["", "  ", "  ", "  ", ""]
    assert "`g`" in tree[3] and "called at line 3 in `f0`" not in tree[3] and "3/0 ran as Python" in tree[3]


def test_a_long_tree_has_a_page():
    functions = [function("0", "f0", entry("0/0"))]
    functions += [
        function(str(n), f"f{n}", entry(f"{n}/0", *(called(str(k), k) for k in range(n)))) for n in range(1, 40)
    ]
    found = call_tree_section(run(*functions))
    assert len(found) == 4 and found[-1].endswith("37 more below them: [call_tree.md](call_tree.md)")
    assert call_tree_page(run(*functions)).count("\n- ") + call_tree_page(run(*functions)).count("  - ") == 40
    assert call_tree_page(run(*functions[:5])) == ""


def test_names_of_the_program_are_no_markup():
    hostile = function("0", "<img src=x>`[a](b)", entry("0/0", CallerRecord(Place("/p/<b>.py", 1, "m", "`|<i>"))))
    (text,) = call_tree_section(run(hostile))
    assert "\\<b>.py" in text and "`` <img src=x>`[a](b) ``" in text


def test_what_is_compiled_ahead_of_time_is_not_called_at_that_line():
    line = CallerRecord(Place("/p/train.py", 9, "m", "made = torch.compile(f).aot_compile(((x,), {}))"))
    ahead = replace(entry("0/0", line), made=Made.AHEAD)
    (text,) = call_tree_section(run(function("0", "f", ahead)))
    assert "compiled at train.py:9 `made = torch.compile(f).aot_compile(((x,), {}))`" in text


def test_a_function_that_is_loaded_and_then_called_says_both():
    lines = [
        CallerRecord(Place("/p/train.py", line, "m", text)) for line, text in ((3, "torch.compile(f)"), (9, "f(x)"))
    ]
    loaded = replace(entry("0/0", lines[0]), made=Made.CALL_LOADED)
    (text,) = call_tree_section(run(function("0", "f", loaded)))
    assert "loaded at train.py:3 `torch.compile(f)`" in text
    (text,) = call_tree_section(run(function("0", "f", loaded, entry("0/1", lines[1]))))
    assert "loaded or called at train.py, lines 3, 9" in text
