"""A pickle is followed, not obeyed: each opcode gives plain data, hostile ones a clear error, and nothing is called."""

from __future__ import annotations

import collections
import datetime
import enum
import inspect
import os
import pickle
import time
import warnings
from pathlib import Path

import pytest

from depyf.actions.opened.open_file import opened
from depyf.sources.files.inert_objects import Called, External, Named, Pairs, fields, inside
from depyf.sources.files.inert_text import in_short, tree
from depyf.sources.files.nested_pickles import NestedPickles
from depyf.sources.files.pickle_steps import SavedFileError, Steps, TooLarge, read_pickle
from depyf.sources.files.saved_parts import parts_of
from depyf.sources.files.saved_signature import signature_text


class Colour(enum.Enum):
    RED = 1


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = 1, [2]


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


PLAIN = [
    None,
    True,
    False,
    0,
    -1,
    255,
    70_000,
    -(2**40),
    2**90,
    1.5,
    "text",
    "\ud800",
    b"bytes",
    (),
    (1,),
    (1, 2, 3, 4),
    [],
    [[1]],
]


def plain(value):
    """Back to what it stands for, where that is a literal."""
    if isinstance(value, Pairs):
        return {plain(key): plain(item) for key, item in value.pairs}
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    return value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_literals_are_themselves(protocol: int) -> None:
    for value in [*PLAIN, {"a": 1, 2: {"b": [3]}}]:
        data = pickle.dumps(value, protocol)
        if isinstance(value, bytes) and protocol < 3:
            continue  # a call of _codecs.encode
        found, end = read_pickle(data, Steps())
        assert plain(found) == value
        assert end == len(data)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_objects_are_calls_of_names(protocol: int) -> None:
    value = [
        Colour.RED,
        datetime.date(2020, 1, 2),
        collections.OrderedDict(a=1),
        {1, 2},
        frozenset([3]),
        len,
        bytearray(b"x"),
    ]
    found, _ = read_pickle(pickle.dumps(value, protocol), Steps())
    assert isinstance(found, list)
    assert len(found) == len(value)
    assert isinstance(found[5], Named)
    assert found[5].name == "len"
    assert "OrderedDict" in in_short(found[2])


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_attributes_in_slots(protocol: int) -> None:
    found, _ = read_pickle(pickle.dumps(Slotted(), protocol), Steps())
    assert fields(found) == {"left": 1, "right": [2]}
    assert [key for key, _ in inside(found)][-2:] == ["left", "right"]


def test_a_list_in_itself() -> None:
    value: list[object] = []
    value.append(value)
    found, _ = read_pickle(pickle.dumps(value), Steps())
    assert isinstance(found, list)
    assert found[0] is found
    assert "".join(tree(found, lambda data: data)) == "list  0: as in line 1"


def test_external_objects() -> None:
    found, _ = read_pickle(b"\x80\x02]U\x03keyQa.", Steps())
    assert isinstance(found, list)
    assert isinstance(found[0], External)
    assert found[0].key == "key"


def test_nothing_is_executed(tmp_path: Path) -> None:
    """The canary: to load it makes a file."""
    canary = tmp_path / "canary"
    data = pickle.dumps({"inner": pickle.dumps(Bomb(canary)), "outer": Bomb(canary)})
    parts = parts_of(NestedPickles(data))
    assert not canary.exists()
    assert sum(count for name, count in parts.called.items() if name.endswith("system")) == 2
    pickle.loads(data)
    assert canary.exists()


def test_pickles_in_pickles_are_read() -> None:
    data = pickle.dumps({"a": pickle.dumps(["b" * 3, pickle.dumps(("c", 1.5))])})
    found = NestedPickles(data)
    assert [line.strip() for line in tree(found.root, found.unfold)][-2:] == ["0: 'c'", "1: 1.5"]


def proto(body: bytes) -> bytes:
    return b"\x80\x04" + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80",
        b"\x80\x04",
        b"not a pickle",
        b"PK\x03\x04",
        proto(b"."),
        proto(b"a."),
        proto(b"u."),
        proto(b"R."),
        proto(b"t."),
        proto(b"h\x05."),
        proto(b"}](u."),
        proto(b"}(Nu."),
        proto(b"N(Ne."),
        proto(b"NN\x93."),
        proto(b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fx."),
        proto(b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffx."),
        proto(b"T\xff\xff\xff\x7fx."),
        proto(b"\x8b\xff\xff\xff\x7fx."),
        proto(b"\x8b\xff\xff\xff\xffx."),
        proto(b"I" + b"9" * 10_000 + b"\n."),
        proto(b"Np99999999999\n."),
        proto(b"Np-1\n."),
        proto(b"\xff."),
        proto(b"X\x02\x00\x00\x00\xff\xfe."),
        proto(b"cno module\n"),
        proto(b"c" + b"m" * 1001 + b"\nname\n."),
        proto(b"S'\\x'\n."),
    ],
)
def test_damage_is_a_clear_error(data: bytes) -> None:
    with pytest.raises(SavedFileError) as caught:
        NestedPickles(data)
    assert str(caught.value).isprintable()


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


STATE = b"(" + b"".join(text(f"k{number}") + b"N" for number in range(5000)) + b"d"
"""A dict of many keys, to be shared."""
OBJECT = text("m") + b"\x94" + text("Guard") + b"\x93\x94"
"""A class, the second in the memo."""


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            proto(STATE + b"\x940" + OBJECT + b"0]" + b"h\x02)\x81h\x00ba" * 20_000 + b"."), id="one state often"
        ),
        pytest.param(
            proto(b"(" + b"N" * 20_000 + b"t\x940" + OBJECT + b"0]" + b"h\x02h\x00Ra" * 20_000 + b"."),
            id="the same arguments often",
        ),
        pytest.param(
            proto(text("a\n" * 100_000) + b"\x940]" + (b"}" + text("key") + b"h\x00sa") * 20_000 + b"."),
            id="one text often",
        ),
        pytest.param(
            proto(
                b"("
                + text("x" * 10_000)
                + b"l\x940"
                + OBJECT
                + b"0]"
                + (b"h\x02)\x81}" + text("code_list") + b"h\x00sba") * 9000
                + b"."
            ),
            id="one check in all guards",
        ),
        pytest.param(
            proto(b"](" + (b"}" + text("key") + text("1\n\n\n\n") + b"s") * 19_000 + b"e."), id="many texts of one name"
        ),
        pytest.param(proto(b"N" + b"\x85" * 300_000 + b"."), id="deep"),
        pytest.param(proto(b"]" * 200_000 + b"a" * 199_999 + b"."), id="deep lists"),
        pytest.param(proto(b"(" * 200_000 + b"t" * 200_000 + b"."), id="deep marks"),
        pytest.param(proto(b"K\x01" + b"2\x86" * 200 + b"."), id="each pair twice the one before"),
        pytest.param(proto(b"\x8a\xff" + b"\x7f" * 255 + b"."), id="large number"),
        pytest.param(proto(b"\x8b" + (200_000).to_bytes(4, "little") + b"\x7f" * 200_000 + b"."), id="huge number"),
        pytest.param(proto(b"](" + b"N" * 500_000 + b"e."), id="long"),
        pytest.param(proto(b"](" + b"]" * 1000 + b"e\x94" + b"h\x00" * 1000 + b"t."), id="no mark"),
        pytest.param(proto(b"](" + b"N" * 20_000 + b"e\x940(" + b"h\x00" * 20_000 + b"l."), id="one long list often"),
    ],
)
def test_bombs_end_soon(data: bytes) -> None:
    """Each is read in time that grows with its size, or refused; so is all that is made of it."""
    begun = time.process_time()
    try:
        found = NestedPickles(data)
        parts_of(found)
        length = sum(map(len, tree(found.root, found.unfold)))
        opened(data, "bomb")
    except SavedFileError:
        length = 0
    assert length < 10_000_000
    assert time.process_time() - begun < 120, "each takes three seconds alone; what is quadratic takes an hour"


def test_too_many_steps() -> None:
    with pytest.raises(TooLarge, match="steps"):
        read_pickle(proto(b"](" + b"N" * 1000 + b"e."), Steps(500))


def test_pickles_nested_endlessly() -> None:
    """Each level repeats all that is in it, so that a small file would be read as a large one."""
    data = pickle.dumps("x" * 100_000)
    for _ in range(30):
        data = pickle.dumps(data)
    found = NestedPickles(data)
    with pytest.raises(TooLarge, match="times the file"):
        parts_of(found)


def test_what_is_no_nested_pickle_stays_bytes() -> None:
    found = NestedPickles(pickle.dumps([b"\x80\x04R.", b"\x80\x04 is not one"]))
    parts_of(found)
    assert len(found.notes) == 1
    assert "begin as a pickle and are none" in found.notes[0]


def test_signatures() -> None:
    def many(a, /, b, c=1, *args, d, e="x|", **options): ...
    def keywords(*, only=None): ...
    def nothing(): ...

    for function in (many, keywords, nothing):
        signature = inspect.signature(function)
        found, _ = read_pickle(pickle.dumps(signature), Steps())
        assert signature_text(found) == str(signature)


def test_a_set_and_a_frozenset_are_told_apart() -> None:
    found, _ = read_pickle(pickle.dumps([{1}, frozenset({1}), set(), frozenset()], 4), Steps())
    assert in_short(found) == "[{1}, frozenset({1}), set(), frozenset()]"
    assert [line.strip() for line in tree(found, lambda data: data)][1:5] == ["0: set", "0: 1", "1: frozenset", "0: 1"]


def test_a_call_is_told_in_short() -> None:
    assert in_short(Called(Named("builtins", "slice"), (1, (2,)))) == "slice(1, (2,))"


@pytest.mark.parametrize("text", [rb"'a\n\x41\\\'\"\7\12\101'", b'"it\'s"', b"''"])
def test_strings_of_protocol_0(text):
    data = b"S" + text + b"\n."
    assert read_pickle(data, Steps())[0] == pickle.loads(data)


@pytest.mark.parametrize("text", [rb"'\$'", rb"'\8'", rb"'\x4'", rb"'\477'", b"'\\'", b"'", b"'a", b"a", b""])
def test_no_string(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SavedFileError):
            read_pickle(b"S" + text + b"\n.", Steps())


@pytest.mark.parametrize("data", [b"cos\\path\njoin\\N\n.", b"(ios\\path\njoin\\N\n.", b"P\\N\n."])
def test_a_backslash_in_a_name_is_no_escape(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_pickle(data, Steps())[0]
    assert "\\N" in repr(found)


@pytest.mark.parametrize("kind", [(), (7,), ("0",), "no tuple", None])
def test_a_damaged_signature(kind):
    parameter = Called(Named("inspect", "Parameter"), ("x", Called(Named("inspect", "_ParameterKind"), kind)))
    assert signature_text(Called(Named("inspect", "Signature"), ((parameter,),))) is None
