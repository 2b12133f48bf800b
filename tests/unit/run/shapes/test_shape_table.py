"""Records -> the table of a function: equalities, ranges, duck sizing, constants; each fact once."""

from __future__ import annotations

import random

import pytest

from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord, GuardRecord, ShapeFact, SymbolRecord
from depyf.run.run import Run
from depyf.run.shapes.allowed_sizes import bounds, candidates, described, holding
from depyf.run.shapes.shape_table import heuristic, shapes_of
from depyf.run.shapes.size_expression import read_size_expression
from depyf.run.shapes.size_names import size_name
from depyf.views.pages.run_data import RunFindings, shape_rows, shapes_data
from depyf.views.pages.shapes import folded, shapes_page, shapes_section
from work import calls

LINE = Place("/p/m.py", 7, "f", "return x.view(-1, 4) + y")


def function(*entries: EntryRecord) -> FunctionRecord:
    return FunctionRecord((0, "0"), CodeRecord("f", "f", "/p/m.py", 3, (), ("x", "y"), (), None, None, ()), entries)


def entry(number: int, symbols=(), facts=(), guards=()) -> EntryRecord:
    return EntryRecord(CompileKey(0, f"0/{number}"), None, guards, "live", symbols=symbols, shape_facts=facts)


def symbol(name: str, source: str, final: str = "[2, int_oo]", **more) -> SymbolRecord:
    return SymbolRecord(name, source, more.pop("value", "8"), "[2, int_oo]", LINE, final=final, **more)


def allowed(low, high, *texts: str) -> str:
    conditions = [c for text in texts if (c := read_size_expression(text)) is not None]
    assert len(conditions) == len(texts)
    tried = values = candidates(low, high, conditions)
    for condition in conditions:
        values = holding(values, "s0", condition)
    return str(described(values, tried, low, high))


def test_values_in_words():
    assert allowed(2, None) == "2 or more"
    assert allowed(48, 51) == "48 to 51"
    assert allowed(7, 7) == "7"
    assert allowed(2, None, "Eq(Mod(s0, 4), 0)", "Ne(s0, 4)") == "multiples of 4 from 8"
    assert allowed(2, 67, "Eq(Mod(s0, 4), 0)") == "multiples of 4 from 4 to 64"
    assert allowed(2, None, "Eq(Mod(s0, 4), 1)") == "5, 9, 13, ..."
    assert allowed(2, None, "Ne(s0, 5)") == "2 or more, not 5"
    assert (
        allowed(2, None, "Eq(2*((s0//8)), (s0//4))", "Eq(2*((s0//2)), s0)")
        == "2, 8, 10, 16, 18, ... (and so on, every 8)"
    )
    assert allowed(2, None, "3*s0 > 20480") == "6827 or more"
    assert (
        bounds("[2, int_oo]") == (2, None)
        and bounds("[-int_oo, 9]") == (None, 9)
        and bounds("[-oo, oo]") == (None, None)
    )


def test_names():
    assert size_name("L['x'].size()[2]").text == "x.size(2)"
    assert size_name("L['d']['a'].size()[0]").input == "d['a']"
    assert size_name("L['x'].stride()[1]").dimension == "stride 1"
    assert size_name("L['step']").text == "step"


def test_equalities_come_first_and_entries_are_folded():
    symbols = (
        symbol("s0", "L['x'].size()[0]", sources=("L['x'].size()[0]",), dynamic="changed"),
        symbol("s1", "L['y'].size()[0]", sources=("L['y'].size()[0]",), equals="s0", dynamic="changed"),
    )
    facts = (
        ShapeFact("Eq(2*s0, 2*s1)", LINE, "add", "torch._refs._broadcast_shapes"),
        ShapeFact("Eq(Mod(s0, 4), 0)", LINE, "view", "torch._refs._reshape_view_helper_core_alg"),
        ShapeFact("Ne(s0*s1, 0)", LINE, "view", "torch._prims_common.is_contiguous"),
    )
    table = shapes_of(function(*(entry(n, symbols, facts) for n in range(1, 6))))
    assert table is not None
    x, y = table.sizes
    assert (x.name.text, x.allowed, y.allowed) == ("x.size(0)", "multiples of 4 from 4", "= x.size(0)")
    assert y.decisions[0].operator == "add" and y.decisions[0].place == LINE
    assert x.entries == y.entries == tuple(f"0/{n}" for n in range(1, 6))
    assert not table.conditions and not table.choices
    assert folded(x.entries) == "0/1 to 0/5" and folded(("0/1", "0/2", "1/4")) == "0/1, 0/2, 1/4"


def test_conditions_on_several_sizes_once_and_not_what_follows():
    symbols = (symbol("s0", "L['x'].size()[0]"), symbol("s1", "L['x'].size()[1]", value="4"))
    facts = (
        ShapeFact("s0 >= s1", LINE, "sub", "torch._check_with"),
        ShapeFact("s0*s1 >= s1*s1", LINE, "sub", "torch._check_with"),
        ShapeFact("s0 + 1 > s1", LINE, "sub", "torch._check_with"),
        ShapeFact("3*s0*s1 <= 20480", LINE, "conv2d", "torch._subclasses.fake_impls.conv"),
    )
    table = shapes_of(function(entry(1, symbols, facts)))
    assert table is not None
    assert [row.text for row in table.conditions] == ["x.size(0) >= x.size(1)"]
    assert [row.text for row in table.choices] == ["3*x.size(0)*x.size(1) <= 20480"]
    assert table.implied == 1


def test_nobody_asked_for_a_symbol_of_the_layout():
    symbols = [symbol(f"s{n}", f"L['x'].{what}", "[0, int_oo]", dynamic="asked")
               for n, what in enumerate(("size()[0]", "stride()[0]", "storage_offset()"))]  # fmt: skip
    run = Run("2.13", "3.11", (function(entry(0, symbols)),), (), ())
    (table,) = [table for _, table in RunFindings(run).shapes]
    notes = {row.name.text: [one.note for one in row.decisions] for row in table.sizes}
    assert notes["x.size(0)"] == ["dynamic=True"]
    assert notes["x.stride(0)"] == notes["x.storage_offset()"] == ["a size of the tensor is a symbol"]
    rows = shape_rows(run.functions[0], table, "f", RunFindings(run))["sizes"]
    assert {row["name"] for row in rows} == {*notes}


def test_duck_sizing_and_constants_in_words():
    shared = symbol(
        "s0", "L['x'].size()[3]", sources=("L['x'].size()[3]", "L['x'].size()[2]", "L['y'].size()[0]"), dynamic="asked"
    )
    fixed = symbol("s2", "L['y'].size()[1]", became="7", why="solve", where=LINE, by="mm")
    size = GuardRecord("TENSOR_MATCH", "", "check_tensor(L['x'], 'Tensor', torch.float32, size=[2, 2, 1, 5])")
    run = Run("2.13", "3.11", (function(entry(0, (shared, fixed)), entry(1, guards=(size,))),), (), ())
    page = shapes_page(RunFindings(run))
    assert (
        "sizes 3 and 2 of x were equal in the call that was compiled, so torch takes them for one (duck sizing)" in page
    )
    assert "x.size(3) and y.size(0) were equal" in page
    assert "7, a constant | 0/0 | m.py:7 `return x.view(-1, 4) + y`, `mm` |" in page
    assert "1, a constant | 0/1 | torch takes sizes 0 and 1 for constants" in page
    assert "In 0/1 `x.size(3)` = 5: torch takes a size for a constant until it has changed" in page


def test_text_of_a_program_is_escaped():
    symbols = (symbol("s0", "L['a|b`<img>'].size()[0]"),)
    facts = (ShapeFact("s0 >= 4", Place("/p/a|b.py", 2, "f", "x | y `<b>`"), "op|`", "m.f"),)
    run = Run("2.13", "3.11", (function(entry(0, symbols, facts)),), (), ())
    page = shapes_page(RunFindings(run))
    (row,) = [line for line in page.splitlines() if "s0" in line and line.startswith("|") and "symbol" not in line]
    assert row.replace("\\|", "").count("|") == 7
    assert shapes_section(RunFindings(run), "shapes.md")[0].startswith("- `f`: ")


def test_no_symbols_no_page():
    run = Run("2.13", "3.11", (function(entry(0)),), (), ())
    assert shapes_page(RunFindings(run)) == "" and shapes_section(RunFindings(run), "shapes.md") == []


def test_what_cannot_be_read_is_shown_as_it_is():
    facts = (ShapeFact("Weird[s0] :: 3", LINE, "cat", "torch.cat"),)
    table = shapes_of(function(entry(0, (symbol("s0", "L['x'].size()[0]"),), facts)))
    assert table is not None and [row.text for row in table.conditions] == ["Weird[x.size(0)] :: 3"]


def test_heuristics_of_torch_are_named():
    assert heuristic("torch._prims_common.is_contiguous_for_memory_format") == "the memory layout of a result"
    assert heuristic("torch._inductor.sizevars.evaluate_expr") == "Inductor's choice of code"
    assert heuristic("torch._check_with") == ""


def test_guards_alone_tell_the_same():
    """What was compiled before anybody listened."""
    sizes = "check_tensor(L['{}'], 'Tensor', torch.float32, size=[None, 3])"
    ask = "_refs/__init__.py:3971 in _reshape_view_helper_core_alg"
    guards = (
        GuardRecord("TENSOR_MATCH", "", sizes.format("x")),
        GuardRecord("TENSOR_MATCH", "", sizes.format("y")),
        GuardRecord("TENSOR_MATCH", "", sizes.format("z")),
        GuardRecord("LAMBDA_GUARD", "", "L['y'].size()[0] == L['x'].size()[0]", place=LINE),
        GuardRecord(
            "LAMBDA_GUARD",
            "",
            "L['z'].size()[0] == L['x'].size()[0]",
            why="duck sizing added this equality because ...",
        ),
        GuardRecord("LAMBDA_GUARD", "", "(L['x'].size()[0] % 4) == 0", place=LINE, why=ask),
        GuardRecord(
            "LAMBDA_GUARD",
            "",
            "2 <= L['x'].size()[0]",
            place=LINE,
            why="... due to 0/1 specialization in the framework",
        ),
        GuardRecord("LAMBDA_GUARD", "", "L['x'].size()[0] <= 40", place=LINE),
        GuardRecord("LAMBDA_GUARD", "", "L['x'].stride()[0] == L['x'].size()[0]"),
        GuardRecord("LAMBDA_GUARD", "", "L['n'] >= 1", place=LINE),
        GuardRecord("EQUALS_MATCH", "", "L['k'] == 3"),
    )
    table = shapes_of(function(entry(1, guards=guards)))
    assert table is not None
    assert {row.name.text: row.allowed for row in table.sizes} == {
        "x.size(0)": "multiples of 4 from 4 to 40", "y.size(0)": "= x.size(0)", "z.size(0)": "= x.size(0)", "n": "1 or more",
    }  # fmt: skip
    assert not table.conditions and not table.choices
    assert "duck sizing" in table.sizes[-1].decisions[0].note
    assert str(table).splitlines()[1] == "x.size(0): multiples of 4 from 4 to 40 in 0/1; /p/m.py:7 in f"
    assert table.to_json()["sizes"][1]["decided_by"][0] == {"at": "/p/m.py:7 in f", "choice": "how a view is made"}


ODD = (
    "Eq(Mod(s0, 0), 0)", "s0/0 > 1", "1e400*s0 > 5", "int(1e400*s0) == 2", "(-s0)**0.5 > 1", "2**s0 < 9", "10**100*s0 >= s1", "True", "s0",
    "Eq(s0, oo)", "zf2 > 1.5", "Ne(u0, s1)", "Eq(s0, s1*s2 + 3)", "s0 >= s0", "Max(s0, s1, 4) > Min(2, s2)", "Or(s0 > 3, s1 < 2)", "s9 > 1",
    "~(s0 > 3)", "Eq(s0 // s1, s2 % s1)", "-5 < s0 < 30", "s0 == 3 == s1", "lambda: 0", "((((", "s0 ... s1 (900 characters)", "Eq(s0, 5)", "s0 < 1",
    "Eq(s1, s0)", "FloorDiv(s0, 1, 2, 3) > 1", "Mod(s0) > 1", "Eq() & Ne(s0)", "abs(s0 - s1) < 4", "f(s0) > 2", "s0 > 1j", "s0 @ s1 > 2",
)  # fmt: skip
RANGES = (
    "[2, int_oo]",
    "[-int_oo, int_oo]",
    "[3, 3]",
    "[9, 2]",
    "[-oo, oo]",
    "",
    "nonsense",
    "[0, 9223372036854775806]",
)


@pytest.mark.parametrize("seed", range(60))
def test_no_condition_stops_the_page(seed):
    random_ = random.Random(seed)
    symbols = tuple(
        symbol(
            name, random_.choice([f"L['x'].size()[{n}]", "", "L['k']", "weird["]), random_.choice(RANGES),
            equals=random_.choice(["", "", "", "s0", "2*s1", "7", "(("]), became=random_.choice(["", "", "", "5", "x"]),
            value=random_.choice(["8", "", "1.5", "nan"]), dynamic=random_.choice(["", "asked", "marked", "changed"]),
        )
        for n, name in enumerate(("s0", "s1", "s2", "u0", "zf2"))
    )  # fmt: skip
    facts = tuple(
        ShapeFact(
            random_.choice(ODD),
            random_.choice([LINE, None]),
            random_.choice(["", "cat"]),
            random_.choice(["", "torch._inductor.x"]),
        )
        for _ in range(random_.randint(0, 12))
    )
    run = Run("2.13", "3.11", (function(entry(0, symbols, facts), entry(1, symbols[:2], facts[:3])),), (), ())
    page = shapes_page(RunFindings(run))
    assert page and shapes_section(RunFindings(run), "shapes.md") and page == shapes_page(RunFindings(run))
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") == 7 for line in rows), page


def overlapping(count: int) -> Run:
    """Inputs that share a storage: conditions of torch's own choice on each two neighbours, and sizes that became constants."""
    symbols = [symbol(f"s{n}", f"L['xs'][{n}].size()[0]") for n in range(count)]
    symbols += [symbol(f"z{n}", f"L['xs'][{n}].storage_offset()") for n in range(count)]
    symbols += [symbol(f"s{count + n}", f"L['y'].size()[{n}]", became="7") for n in range(count)]
    facts = [
        ShapeFact(f"s{n + 1} >= s{n} + {n}", LINE, "add", "torch._prims_common.is_contiguous") for n in range(count - 1)
    ]
    facts += [ShapeFact(f"s{n + 1} < 2*s{n} + {n + 9}", LINE, "add", "f") for n in range(count - 1)]
    facts += [ShapeFact(f"Eq(s{count + n}, 7)", LINE, "mm", "f") for n in range(count)]
    size = ", ".join(["9"] * count)
    guards = tuple(
        GuardRecord("TENSOR_MATCH", "", f"check_tensor(L['xs'][{n}], 'Tensor', torch.float32, size=[{size[:1]}])")
        for n in range(count)
    )
    later = entry(1, tuple(symbols), tuple(facts))
    return Run("2.13", "3.11", (function(entry(0, guards=guards), later),), (), ())


def test_the_work_grows_with_sizes_and_conditions():
    few, many = (calls(lambda n=n: shapes_page(RunFindings(overlapping(n)))) for n in (40, 80))
    assert many < 2.1 * few  # 2.25 where rows are looked for in lists


def test_the_pages_of_a_run_share_what_is_found():
    found = RunFindings(overlapping(10))
    page = calls(lambda: shapes_page(found))
    assert calls(lambda: shapes_section(found, "shapes.md")) + calls(lambda: shapes_data(found)) < page / 2
    assert calls(lambda: shapes_data(RunFindings(overlapping(10)))) > page / 2


def test_what_all_conditions_together_leave():
    x, y = symbol("s0", "L['x'].size()[0]", value="5"), symbol("s1", "L['y'].size()[0]", value="5")
    facts = [ShapeFact(text, LINE) for text in ("s0 <= s1", "s0 >= s1", "Eq(s0 + s1, 10)")]
    table = shapes_of(function(entry(0, (x, y), tuple(facts))))
    assert [row.allowed for row in table.sizes] == ["5", "5"]
    table = shapes_of(function(entry(0, (x, y), tuple(facts[2:]))))
    assert [row.allowed for row in table.sizes] == ["2 to 8", "2 to 8"]


def test_sizes_without_a_limit_stay_so():
    x, y = symbol("s0", "L['x'].size()[0]", value="9"), symbol("s1", "L['y'].size()[0]", value="5")
    table = shapes_of(function(entry(0, (x, y), (ShapeFact("s0 > s1", LINE), ShapeFact("Ne(s0, 2*s1)", LINE)))))
    assert [row.allowed for row in table.sizes] == ["2 or more", "2 or more"]


def test_tensors_that_torch_makes_for_itself_are_left_out():
    x = symbol("s0", "L['x'].size()[0]", sources=("L['x'].size()[0]", "__meta_utils_unknown_tensor3.size()[0]"))
    state = symbol(
        "s1", "__meta_utils_unknown_tensor11.size()[0]", sources=("__meta_utils_unknown_tensor11.size()[0]",)
    )
    facts = (ShapeFact("s1 > 4", LINE), ShapeFact("s0 > s1", LINE))
    table = shapes_of(function(entry(0, (x, state), facts)))
    assert [row.name.text for row in table.sizes] == ["x.size(0)"] and not table.conditions
    assert shapes_of(function(entry(0, (state,), facts))) is None
