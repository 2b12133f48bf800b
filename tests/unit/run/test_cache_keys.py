"""Keys of torch's compile caches: read from its event, kept in few lines, and compared part by part."""

from __future__ import annotations

import json

import pytest

from depyf.run.cache_keys import CacheKey, OtherPart, key_in, key_lines, keys_of, missed_for, other_parts
from depyf.run.records import CompileKey
from depyf.run.run import Run
from depyf.run.store.lines import run_page
from depyf.run.store.loading import RunReading
from depyf.views.compare.run_diff import keys_apart

KEY = CompileKey(0, "0/0")


def payload(digest="fabc", **parts):
    told = [f"[{value[0] * 52}] {name.replace('__', '[')}: {value[1]}" for name, value in parts.items()]
    return json.dumps({"key": digest, "cache_state": "miss", "components": told})


def asked(digest, status="miss", key=KEY, **parts):
    return CacheKey(key, "FX graph", status, digest, tuple(sorted(parts.items())))


def test_short_values_are_kept_and_long_ones_by_their_hash():
    text = payload(
        gm=("a", "def f():\n    return 1"),
        threads=("b", "2"),
        at=("c", "<function f at 0x7f00deadbeef>"),
        tag=("d", ""),
    )
    found = key_in(KEY, "FX graph", "miss", text)
    assert found is not None and found.digest == "fabc"
    assert dict(found.parts) == {"gm": f"#{'a' * 12}", "threads": "2", "at": f"#{'c' * 12}", "tag": ""}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"components": {}}',
        '{"components": [1, null, "no part"]}',
        '{"components": ["[short] a: 1"]}',
    ],
)
def test_what_tells_no_parts_is_no_key(text):
    assert key_in(KEY, "FX graph", "miss", text) is None


def test_a_value_that_looks_like_a_hash_is_none():
    found = key_in(KEY, "FX graph", "miss", payload(tag=("d", "#mine")))
    assert found is not None and dict(found.parts) == {"tag": f"#{'d' * 12}"}


KEYS = (
    asked("f1", gm="#1", threads="2", tag=""),
    asked("f2", gm="#2", threads="2", tag=""),
    asked("f3", "hit", gm="#2", extra="new"),
    asked("f4", gm="#2"),
)


def test_the_lines_have_what_is_new_and_give_the_keys_back():
    lines = list(key_lines(KEYS))
    assert [len(line.asked.parts) for line in lines] == [3, 1, 1, 0] and lines[2].gone == ("tag", "threads")
    assert tuple(keys_of(lines)) == KEYS
    reading = RunReading("run.jsonl")
    reading.feed(run_page(Run("2.13", "3.11", cache_keys=KEYS)).encode())
    assert reading.run().cache_keys == KEYS


def test_the_nearest_key_for_the_same_graph_is_compared():
    first = (asked("f1", gm="#1", a="1", b="1", c="1"), asked("f2", gm="#1", a="2", b="1", c="2"))
    ((key, parts),) = missed_for(first, (asked("f9", gm="#1", a="2", b="1", c="3"),))
    assert key.digest == "f9" and parts == (OtherPart("c", "2", "3"),)
    assert parts[0].words == "c 2 -> 3"


@pytest.mark.parametrize(
    "second",
    [
        asked("f1", gm="#1", a="1"),  # the same key: it was looked up elsewhere
        asked("f9", "hit", gm="#1", a="2"),
        asked("f9", gm="#2", a="2"),  # another graph
    ],
    ids=["same", "found", "other graph"],
)
def test_nothing_is_told_of_another_question(second):
    assert list(missed_for((asked("f1", gm="#1", a="1"),), (second,))) == []


def test_parts_that_one_key_lacks_and_long_ones():
    one, two = asked("f1", gm="#1", a="1", c="#x"), asked("f2", gm="#1", b="1", c="#y")
    assert [part.words for part in other_parts(one, two)] == ["a 1 -> (none)", "b (none) -> 1", "c"]


def test_the_line_of_the_comparison():
    first = [asked(f"f{n}", gm=f"#{n}", on="True") for n in range(2)]
    second = [asked(f"g{n}", gm=f"#{n}", on="False", key=CompileKey(0, f"0/{n}")) for n in range(2)]
    expected = "2 did not find 0/0, 0/1 in torch's cache (FX graph), for the key differs in on True -> False"
    assert keys_apart(first, second) == [expected]
