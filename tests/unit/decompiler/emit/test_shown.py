"""Names that are shown as others count as these where lines are broken."""

from depyf.decompiler.emit.line_breaks import CLOSE_COMMA, ITEM, OPEN, arrange

LONG = "graph_0123456789_0123456789_0123456789"


def test_a_line_that_fits_with_the_other_name():
    marked = f"out = {LONG}({OPEN}first,{ITEM}second{CLOSE_COMMA})"
    assert arrange(marked, 4, 40, 4, [(LONG, "graph")]) == f"out = {LONG}(first, second)"
    assert arrange(marked, 4, 40, 4) == f"out = {LONG}(\n        first, second\n    )"


def test_names_that_begin_alike():
    marked = f"{LONG}_2({OPEN}{LONG},{ITEM}{LONG}_2,{ITEM}third_argument{CLOSE_COMMA})"
    shown = [(LONG, "g"), (f"{LONG}_2", "a_longer_name")]
    for width in (10, 40, 60, 200):
        assert "".join(arrange(marked, 0, width, 4, shown).split()).replace(",)", ")") == (
            f"{LONG}_2({LONG},{LONG}_2,third_argument)"
        )
