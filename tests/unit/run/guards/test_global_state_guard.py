"""torch's global state in Python's words."""

from __future__ import annotations

from depyf.run.guards.kinds.global_state_guard import in_words


def test_words():
    off = {"cached_enabled": True, "dtype": [15, 5, 5, 15, 5, 5, 15, 15, 5, 5], "enabled": [False] * 10}
    found = in_words({"grad_mode": True, "default_dtype": 6, "autocast_state": off, "num_threads": 2})
    assert found == {
        "autocast": "{}", "autocast_cache": "True", "default_dtype": "torch.float32", "grad_mode": "True", "num_threads": "2",
    }  # fmt: skip
    assert list(found) == sorted(found)
    on = {**off, "enabled": [True, *[False] * 8, True], "cached_enabled": False}
    assert in_words({"autocast_state": on}) == {
        "autocast": "{'cpu': torch.bfloat16, 'mps': torch.float16}",
        "autocast_cache": "False",
    }


def test_other_devices_and_other_forms():
    nine = {
        "cached_enabled": True,
        "dtype": [15, 5, 5, 5, 5, 15, 15, 5, 5],
        "enabled": [False] * 3 + [True] + [False] * 5,
    }
    assert in_words({"autocast_state": nine})["autocast"] == "{'xpu': torch.float16}"  # torch before maia
    odd = {"autocast_state": {"enabled": [1], "dtype": [], "cached_enabled": True}, "default_dtype": 99}
    assert in_words(odd) == {"autocast_state": repr(odd["autocast_state"]), "default_dtype": "99"}
    assert in_words({"autocast_state": 3}) == {"autocast_state": "3"}
