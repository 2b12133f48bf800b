"""Functions of two dumps are paired by name and code, and lines by the functions that they are in."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.global_names import with_counters
from depyf.run.places.place import Place
from depyf.views.compare.pairing import Met, Pairing, met, moved, pairing
from run_records import entry, function
from work import calls


def functions(*found: tuple[str, str, str]) -> list[Met]:
    """Of (name, place, source) in the order of their compilation."""
    records = [
        function(name, f"/p/{place}", entry(f"{n}/0"), source=source) for n, (name, place, source) in enumerate(found)
    ]
    return met(records, str)


def names(found: Pairing) -> list[tuple[str | None, str | None]]:
    return [(a and f"{a.name}:{a.line}", b and f"{b.name}:{b.line}") for a, b in found.pairs]


F, G = "def run(x):\n    return x + 1", "def run(x):\n    return x - 1"


def test_of_one_name_by_code() -> None:
    one = functions(("A.run", "m.py:3", F), ("B.run", "m.py:9", G))
    two = functions(("B.run", "m.py:4", G), ("A.run", "m.py:11", F))
    found = pairing(one, two)
    assert names(found) == [("A.run:3", "A.run:11"), ("B.run:9", "B.run:4")]
    assert found.line("/p/m.py", 4) == 12 and found.line("/p/m.py", 10) == 5
    assert found.rename("guards_0_0(x); guard_1_0[2]; f.__compiled_fn_0_0", "") == (
        "guards_1_0(x); guard_0_0[2]; f.__compiled_fn_1_0"
    )


def test_renamed_moved_and_changed() -> None:
    (one,) = functions(("run", "m.py:3", F))
    for other, said in (
        (("go", "m.py:5", F.replace("run", "go")), "is called go in 2"),
        (("run", "n.py:3", F), "is in /p/n.py in 2"),
        (("run", "m.py:3", G), "has another source in 2 (-1 +1 lines)"),
        (("run", "m.py:8", F), ""),
    ):
        ((a, b),) = pairing([one], functions(other)).pairs
        assert a is one and b is not None and moved(one, b) == said
    assert names(pairing([one], functions(("go", "m.py:3", "def go(): pass")))) == [("run:3", None), (None, "go:3")]


def test_lines_between_are_shifted_as_those_above() -> None:
    found = pairing(functions(("run", "m.py:3", F)), functions(("run", "m.py:6", F)))
    assert [found.line("/p/m.py", n) for n in (1, 3, 4, 20)] == [4, 6, 7, 23]
    found.add_lines("/p/m.py", {1: "import a", 20: "z = 1"}, {1: "import a", 30: "z = 1"})
    assert [found.line("/p/m.py", n) for n in (1, 2, 4, 21)] == [1, 2, 7, 31]


def test_where_a_text_goes_on_is_a_line_of_its_file() -> None:
    one, two = (functions(("run", f"m.py:{line}", F)) for line in (3, 6))
    (only,) = one
    rest = replace(only.record, code=replace(only.record.code, goes_on=(4,)))
    found = pairing([replace(only, record=rest)], two)
    assert found.rename("goes_on_from_line_4(...)", "/p/m.py") == "goes_on_from_line_7(...)"
    assert found.rename("goes_on_from_line_4(...)", "/p/other.py") == "goes_on_from_line_4(...)"
    assert found.place(Place("/p/m.py", 4), "/p/") == Place("<program>/m.py", 4), "of files told from the folder"


def test_counters_that_are_others_throughout() -> None:
    assert (
        with_counters("__resume_3(__resume_4, __resume_3)", "__resume_8(__resume_9, __resume_8)")
        == "__resume_8(__resume_9, __resume_8)"
    )
    swapped = "__resume_4(__resume_3, __resume_3)"
    assert with_counters(swapped, "__resume_8(__resume_9, __resume_8)") == swapped


def test_the_work_grows_with_the_functions() -> None:
    """Each looks for the rests of functions after it, and each text for names."""

    def work(count: int) -> int:
        sides = []
        for _ in range(2):
            rests = [None] * count + [str(n) for n in range(count)]
            records = [
                function(f"f{n}", f"/p/m{n}.py:1", entry(f"{n}/0"), source="def f(): pass", resume_of=rest)
                for n, rest in enumerate(rests)
            ]
            sides.append(met(records, str))
        found = pairing(*sides)
        return calls(lambda: found.rename("f0 g\n" * count, "")) + calls(lambda: pairing(*sides))

    assert len(pairing([], []).pairs) == 0
    assert work(80) < 2.5 * work(40)
