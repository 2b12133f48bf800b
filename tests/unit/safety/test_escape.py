"""Names and messages of others, shown on a terminal and made into file names."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from depyf.run.compile_stages import WRAPPER
from depyf.run.files.layout import disassembly_file, full_code_files, kernel_file, transformed_file
from depyf.run.records import CodeRecord, CompileKey, GraphRecord
from depyf.safety.escape import cut, cut_around, file_name, printable, printable_lines, safe_name

HOSTILE = ["a\nb", "\x1b[31mred\x1b[0m", "a\u202eb", "\u2066x", "\x9b2J", "\u2028", "\x00", "\ud800", "\u200b", "\u3164", "\ufeff", "x" * 200 + "\r"]  # fmt: skip
NAMES = [*HOSTILE, "x" * 300, "\u540d" * 66, "\u540d" * 300, "<lambda>", "con", "NUL.txt", "a:b", "..", ".", "", " a ", "a.", "a/b\\c", "x\xb2", "\ufb01"]  # fmt: skip


def record(name: str) -> CodeRecord:
    return CodeRecord(name, name, "/x.py", 1, (), (), (), None, None, ())


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_printable(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() and shown != text
    assert printable(shown) == shown
    lines = printable_lines(f"\tone {text}\ntwo\n")
    assert lines.startswith("\tone ") and lines.endswith("\ntwo\n")
    assert all(char in "\n\t" or char.isprintable() for char in lines)


@pytest.mark.parametrize("text", ["plain", "na\xefve \u540d\u524d \u0e01\u0e33 \U0001f600", "C:\\dir\\x", ""])
def test_what_shows_stays(text: str) -> None:
    assert printable(text) == printable_lines(text) == text


def test_no_character_passes_that_moves_the_cursor() -> None:
    for number in range(sys.maxunicode + 1):
        if unicodedata.category(chr(number)) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
            assert printable(chr(number)).isascii()


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_parts_of_names(name: str) -> None:
    part = safe_name(name)
    assert f"_{part}".isidentifier() and part == unicodedata.normalize("NFKC", part)
    assert 0 < len(part.encode()) <= 120


@pytest.mark.parametrize("suffix", ["", ".py"])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_file_names(name: str, suffix: str) -> None:
    found = file_name(name, suffix)
    assert found.endswith(suffix) and found.isprintable() and 0 < len(found.encode()) <= 250
    assert not set(found) & set('<>:"|?*\\/') and found.rstrip(". ") == found
    assert found.partition(".")[0].upper() not in ("CON", "NUL")


def test_names_that_are_short_and_legal_stay() -> None:
    for name in ("forward", "mod\xe8le", "\u540d\u524d", "torch_dynamo_resume_in_f_at_3"):
        assert safe_name(name) == file_name(name) == name


def test_long_names_stay_apart() -> None:
    assert safe_name("x" * 300) != safe_name("x" * 301)
    assert file_name("x" * 300) != file_name("x" * 301)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_files_of_a_dump(name: str) -> None:
    key = CompileKey(3, "!12/123456/7")
    code = record(name)
    names = [transformed_file(key, code), disassembly_file(key, code), *full_code_files((code,)),
             kernel_file(GraphRecord(key, WRAPPER, 0, ""), name, "cpp")]  # fmt: skip
    assert all(len(found.encode()) <= 250 and found.isprintable() and "/" not in found for found in names)


def test_names_that_differ_in_case_get_files_of_their_own() -> None:
    codes = tuple(record(name) for name in ("f", "F", "F", "\xe9", "e\u0301"))
    names = full_code_files(codes)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in names}) == len(codes)


@pytest.mark.parametrize(
    "text, longest, expected",
    [
        ("short", 5, "short"),
        ("x" * 9, 8, "xxxxx..."),
        ("raise ValueError('no such file')", 26, "raise ValueError('no s...'"),
        ("raise ValueError('no such file')", 17, "raise ValueErr..."),
        ("the builtin `print` and the builtin `input`", 40, "the builtin `print` and the builtin ..."),
        ("see ``a `quoted` name`` here, and more", 20, "see ``a `quoted...``"),
        ("torch doesn't know the users' functions", 30, "torch doesn't know the user..."),
        ("print(f\"{x} and\", rb'bytes of a file')", 30, "print(f\"{x} and\", rb'bytes...'"),
        ('log("""a "quoted" text of several""")', 24, 'log("""a "quoted" ..."""'),
        ("say('it\\'s a text that goes on')", 20, "say('it\\'s a tex...'"),
    ],
)
def test_cut(text: str, longest: int, expected: str) -> None:
    found = cut(text, longest)
    assert len(found) <= longest and found == expected


def test_cut_leaves_no_quotation_open() -> None:
    text = "f(a='one', b=\"two 'and' three\", c=`four`) and then"
    for longest in range(12, len(text)):
        shown = cut(text, longest)
        assert len(shown) <= longest and shown.count("`") % 2 == 0 and shown.count('"') % 2 == 0


def test_cut_leaves_no_lone_backquote_in_a_string() -> None:
    text = "mode == 'it is `quoted` in a string' and more"
    for longest in range(14, len(text)):
        shown = cut(text, longest)
        assert len(shown) <= longest and shown.count("`") % 2 == 0 and shown.count("'") % 2 == 0


@pytest.mark.parametrize(
    ("text", "longest", "parts", "expected"),
    [
        ("short", 20, ("x",), "short"),
        ("first(a, b, c, d, e); second(f)", 20, ("second",), "... d, e); second(f)"),
        ("y = first(a, b, c, d, e, f, g)", 16, ("first",), "y = first(a, ..."),
        ("a = 1; b = 2; target = 3; c = 4; d = 5; e = 6", 24, ("missing", "target"), "a = 1; b = 2; target ..."),
        ("a = 1; b = 2; c = 3; target = 4; d = 5; e = 6", 24, ("target",), "... = 3; target = 4; ..."),
        ("0123456789", 8, (), "01234..."),
    ],
)
def test_cut_around(text: str, longest: int, parts: tuple[str, ...], expected: str) -> None:
    found = cut_around(text, longest, *parts)
    assert found == expected and len(found) <= longest
