"""The entry that a call nearly fitted comes first, whichever torch tried first."""

from __future__ import annotations

from dataclasses import replace

from depyf.run.advice.registry import use
from depyf.run.nearest import nearest_first, without_lone_marks
from depyf.run.records import CompileKey, EntryRecord, GuardRecord, RecompileRecord
from work import calls


def entry(id, guards, *reasons):
    records = tuple(RecompileRecord(earlier, guard, None, "", "") for earlier, guard in reasons)
    made = tuple(GuardRecord("", text, text) for text in guards)
    return EntryRecord(CompileKey(0, id), None, made, "live", recompiles=records)


def test_nearest_first():
    first = entry("0/0", ["size 4", "mode == 'a'"])
    second = entry("0/1", ["size 4", "mode == 'b'"])
    third = entry("0/2", ["size 5", "mode == 'a'"], ("0/1", "mode == 'b'"), ("0/0", "size 4"))
    found = nearest_first([third, second, first])[0].recompiles
    assert [record.entry for record in found] == ["0/0", "0/1"]


def test_an_entry_for_more_sizes_is_nearer():
    def check(sizes, strides):
        return f"check_tensor(L['x'], 'Tensor', torch.float32, size=[{sizes}], stride=[{strides}])"

    fixed = entry("0/0", [check("4, 2", "2, 1")])
    general = entry("0/1", [check("None, 2", "2, 1"), "2 <= L['x'].size()[0] <= 8", "L['x'].size()[0] != 3"])
    made = entry("0/2", [check("3, 2", "2, 1")], ("0/0", "tensor 'x' size mismatch"), ("0/1", "x.size()[0] != 3"))
    found = nearest_first([made, fixed, general])[0].recompiles
    assert [record.entry for record in found] == ["0/1", "0/0"]
    other = entry("0/1", [check("None, 2", "2, 1").replace("float32", "float64"), "L['x'].size()[0] != 3"])
    assert [record.entry for record in nearest_first([made, fixed, other])[0].recompiles] == ["0/0", "0/1"]


def test_unknown_distances_keep_torchs_order():
    failed = entry("0/2", [], ("0/1", "mode == 'b'"), ("0/0", "size 4"))
    assert nearest_first([failed, entry("0/0", ["size 4"])])[0] == failed
    left_out = entry("0/2", ["size 5"], ("0/1", "a is b"), ("0/0", "size 4"))
    earlier = entry("0/1", ["check_no_aliasing(a, b)", "size 4"])
    assert nearest_first([left_out, earlier, entry("0/0", ["size 4"])])[0] == left_out


def test_one_mark_is_not_enough_for_several_tensors():
    def check(tensor, size):
        return f"check_tensor(L['{tensor}'], 'Tensor', torch.float32, size=[{size}], stride=[1])"

    advice = (use("mark-dynamic", tensor="x", dimension="0"), use("compile-dynamic"))
    reason = RecompileRecord("0/0", "tensor 'x' size mismatch", None, "3", "4", advice)
    first = entry("0/0", [check("x", "3"), check("y", "3"), check("z", "8")])
    both = replace(entry("0/1", [check("x", "None"), check("y", "None"), check("z", "8")]), recompiles=(reason,))
    one = replace(entry("0/1", [check("x", "None"), check("y", "3"), check("z", "8")]), recompiles=(reason,))
    assert without_lone_marks([both, first])[0].recompiles[0].advice == (use("compile-dynamic"),)
    assert without_lone_marks([one, first])[0].recompiles[0].advice == advice


def test_the_guards_of_an_entry_are_read_once():
    """Each entry is compared with all older ones."""

    def work(tensors):
        sizes = [
            f"check_tensor(L['x{n}'], 'Tensor', torch.float32, size=[4, 2], stride=[2, 1])" for n in range(tensors)
        ]
        entries = [
            entry(f"0/{new}", [*sizes, f"mode == 'm{new}'"], *((f"0/{n}", f"mode == 'm{n}'") for n in range(new)))
            for new in range(24)
        ]
        return calls(lambda: without_lone_marks(nearest_first(entries)))

    few, many = work(20), work(40)
    assert many - few < 24 * 20 * 12  # of each guard of each entry, not of each pair of entries
