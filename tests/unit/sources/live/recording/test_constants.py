"""Which constants the recompiled text may have that Dynamo did not put there: the interpreter's own, by identity."""

import builtins

import pytest

from depyf.sources.live.recording.substitute import refuse_constants

BUILTIN = [name for name, value in vars(builtins).items() if isinstance(value, type) or value in (iter, len, print)]


def with_constant(value):
    return (lambda: 0).__code__.replace(co_consts=(None, value))


ARMED = []


class Meta(type):
    def __getattribute__(cls, name):
        assert not ARMED, f"the metaclass was asked for {name}"
        return super().__getattribute__(name)


Hostile = Meta("set", (), {})


@pytest.mark.parametrize("name", BUILTIN)
def test_what_is_builtin(name):
    assert refuse_constants(with_constant(None), with_constant(getattr(builtins, name))) == ""


@pytest.mark.parametrize(
    "value", (type("set", (set,), {}), Hostile, [].append, lambda: 0), ids=("class", "metaclass", "method", "function")
)
def test_what_is_not(value):
    ARMED.append(value)
    refused = refuse_constants(with_constant(None), with_constant(value))
    ARMED.clear()
    assert "is not the object that Dynamo put there" in refused
    assert refuse_constants(with_constant(value), with_constant(value)) == ""


def test_a_builtin_of_the_program(monkeypatch):
    def mine():
        pass

    monkeypatch.setattr(builtins, "mine", mine, raising=False)
    assert refuse_constants(with_constant(None), with_constant(mine)) != ""
