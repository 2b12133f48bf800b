"""``tools/fuzz/contained.py`` ends what does not end."""

from __future__ import annotations

import os
import signal

from tools.fuzz.contained import contained


def test_says_and_ends() -> None:
    assert contained(lambda say: [say(n) for n in range(3)], 5, 500) == ((0, 1, 2), "")


def test_much_is_said() -> None:
    assert contained(lambda say: say("x" * 3_000_000), 5, 500).said == ("x" * 3_000_000,)


def test_a_loop_in_c_is_ended() -> None:
    done = contained(lambda say: (say("before"), sum(iter(int, 1)), say("after")), 1, 500)
    assert done == (("before",), "after 1 s")


def test_memory_is_limited() -> None:
    items = [1]
    assert contained(lambda say: items.extend(iter(items)), 20, 300).ended == "with status 1"
    assert items == [1]


def test_a_signal_is_told() -> None:
    assert contained(lambda say: os.kill(os.getpid(), signal.SIGTERM), 5, 500).ended == "by SIGTERM"
