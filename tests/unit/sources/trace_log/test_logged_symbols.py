"""What the guards in a log tell of symbols in the end."""

from __future__ import annotations

from depyf.run.records import GuardRecord, SymbolRecord
from depyf.sources.reports.shape_questions import FinalSymbol
from depyf.sources.trace_log.logged_symbols import changed_size, logged_symbols

X, Y, Z = (f"L['{name}'].size()[0]" for name in "xyz")


def final(*guards: str, changed: tuple[str, ...] = (), **symbols: str) -> dict[str, FinalSymbol]:
    known = [SymbolRecord(name, source, "4", "[2, int_oo]", None) for name, source in symbols.items()]
    return logged_symbols(known, [GuardRecord("LAMBDA_GUARD", text, text) for text in guards], changed)


def test_a_range_is_that_of_the_guards() -> None:
    assert final(f"2 <= {X}", s0=X) == {"s0": FinalSymbol((X,), "[2, int_oo]", "")}
    assert final(f"3 <= {X} and {X} <= 40", s0=X)["s0"].range == "[3, 40]"
    assert final(f"3 <= {X} <= 40", s0=X)["s0"].range == "[3, 40]"
    assert final(f"{X} >= 8", s0=X)["s0"].range == "[8, int_oo]"
    assert final(f"2 <= {X}", f"{Y} <= 8", f"2 * {X} <= 8", s0=X)["s0"].range == "[2, int_oo]"
    number = SymbolRecord("s0", "L['n']", "4", "[-int_oo, int_oo]", None)
    assert logged_symbols([number], [], ())["s0"].range == "[-int_oo, int_oo]"


def test_a_size_without_a_bound_is_no_symbol_any_more() -> None:
    """torch writes each bound.  What it became may be told by an event."""
    assert final(f"{Y} <= 8", s0=X) == {"s0": FinalSymbol((X,), "", "")}
    known = SymbolRecord("s0", X, "4", "[2, int_oo]", None).specialised("4", "range refined to singleton", None)
    assert logged_symbols([known], [], ()) == {"s0": FinalSymbol((X,), "[4, 4]", "4")}


def test_a_number_that_it_has_to_be() -> None:
    assert final(f"{X} == 7", s0=X) == {"s0": FinalSymbol((X,), "[7, 7]", "7")}


def test_other_sizes_of_one_symbol_and_symbols_that_are_equal() -> None:
    """Of ``y`` there is no symbol: it shares that of ``x``.  Of two symbols the log does not say which one stays."""
    found = final(f"{Y} == {X}", f"2 <= {X}", f"{X} <= 9", s0=X)
    assert found == {"s0": FinalSymbol((X, Y), "[2, 9]", "")}
    found = final(f"{Z} == {X}", f"2 <= {X}", f"{X} <= 9", s0=X, s1=Z)
    assert found == {"s0": FinalSymbol((X,), "[2, 9]", ""), "s1": FinalSymbol((Z,), "[2, 9]", "")}


def test_what_is_no_source_of_a_symbol() -> None:
    """A stride is equal to the size in each call, and torch has an expression for it, no source."""
    stride = "L['x'].stride()[0]"
    assert final(f"{X} == {stride}", f"2 <= {X}", s0=X) == {"s0": FinalSymbol((X,), "[2, int_oo]", "")}
    assert final(s0="__meta_utils_unknown_tensor11.size()[0]")["s0"].sources == ()


def test_the_range_of_a_float_is_not_kept() -> None:
    symbol = SymbolRecord("zf2", "L['z']", "4.0", "[-oo, oo]", None)
    guard = GuardRecord("LAMBDA_GUARD", "L['z'] <= 100.0", "L['z'] <= 100.0")
    assert logged_symbols([symbol], [guard], ())["zf2"].range == "[-oo, oo]"


def test_why_it_is_a_symbol() -> None:
    told = {"name": "L['x']", "dim_changed": 0, "reason": "size change", "cached": "4", "new": "5"}
    assert changed_size({"name": "automatic_dynamic", "args": told}) == X
    assert changed_size({"name": "automatic_dynamic", "args": {**told, "reason": "stride change"}}) == ""
    assert changed_size({"name": "automatic_dynamic", "args": {**told, "dim_changed": "all"}}) == ""
    assert changed_size({"name": "dynamo", "args": told}) == changed_size({"name": "automatic_dynamic"}) == ""
    assert final(f"2 <= {X}", changed=(X,), s0=X)["s0"].dynamic == "changed"
    assert final(f"2 <= {X}", changed=(Y,), s0=X)["s0"].dynamic == ""
    assert final(s0="L['x'].storage_offset()")["s0"].dynamic == "asked"


def test_guards_that_are_no_comparisons_say_nothing() -> None:
    assert final("___check_type_id(L['x'], 7) == (", f"2 <= {X} or {X} == 7", s0=X)["s0"].range == ""
    assert logged_symbols([SymbolRecord("u0", "", "", "", None)], [], ()) == {}
