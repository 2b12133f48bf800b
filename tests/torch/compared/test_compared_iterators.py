"""``depyf.compare`` of calls with iterators as arguments: those of Python itself are copied, others are named."""

import pytest
import torch

import depyf
from depyf.sources.live.state.iterators import copied_iterator, is_copied, left_in, place_of

pytestmark = pytest.mark.torch
QUICK = ("eager", "aot_eager")
NUMBERS = [3, 1, 2]


def shared():
    one = iter(NUMBERS)
    return zip(one, one)


MADE = {
    "list": lambda: iter(NUMBERS),
    "reversed list": lambda: reversed(NUMBERS),
    "tuple": lambda: iter((3, 1, 2)),
    "reversed tuple": lambda: reversed((3, 1, 2)),
    "range": lambda: iter(range(3)),
    "long range": lambda: iter(range(1 << 70, (1 << 70) + 3)),
    "str": lambda: iter("abc"),
    "bytes": lambda: iter(b"abc"),
    "enumerate": lambda: enumerate(NUMBERS, 5),
    "zip": lambda: zip(NUMBERS, "abc"),
    "zip of one iterator": shared,
    "map": lambda: map(str, NUMBERS),
    "filter": lambda: filter(None, NUMBERS),
    "nested": lambda: enumerate(zip(NUMBERS, map(str, range(4)))),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("taken", (0, 1, 5))
def test_a_copy_is_at_the_same_place(name, taken):
    given, alone = MADE[name](), MADE[name]()
    for iterator in (given, alone):
        for _ in range(taken):
            next(iterator, None)
    assert is_copied(given)
    before = place_of(given)
    copy = copied_iterator(given, {})
    assert type(copy) is type(given) and (copy is not given or taken == 5)
    assert list(copy) == list(alone)
    assert place_of(given) == before, "the copy takes nothing from the original"
    list(given)
    assert taken or place_of(given) != before


class Sequence:
    def __len__(self):
        raise AssertionError("code of the program runs")

    def __getitem__(self, index):
        raise AssertionError("code of the program runs")


@pytest.mark.parametrize(
    "made",
    (
        lambda: iter({1}),
        lambda: iter({1: 2}),
        lambda: (n for n in NUMBERS),
        lambda: enumerate(n for n in NUMBERS),
        lambda: zip(NUMBERS, iter({1})),
        lambda: iter(Sequence()),
    ),
)
def test_what_has_no_copy(made):
    assert not is_copied(made())


def test_how_much_is_left():
    assert left_in(iter(NUMBERS)) == "3 left"
    assert left_in(enumerate(NUMBERS, 5)) == "at 5, 3"


def first(x, items):
    return x + next(items)


def every(x, items):
    return x + sum(items)


@pytest.mark.parametrize("compiled", (False, True))
@pytest.mark.parametrize(
    ("fn", "made"),
    ((first, lambda: reversed(NUMBERS)), (every, lambda: map(abs, NUMBERS)), (every, lambda: filter(None, NUMBERS))),
)
def test_a_call_with_an_iterator_is_compared(fn, made, compiled):
    given = made()
    result = depyf.compare(torch.compile(fn, backend="eager") if compiled else fn, torch.ones(2), given, backends=QUICK)
    assert result, str(result)
    assert list(given) == list(made()), "the program's iterator is where it was"


def test_what_an_iterator_gives_is_put_back():
    """A tensor that only the iterator leads to."""

    def doubles(x, items):
        return x + next(items).mul_(2)

    tensor = torch.ones(2)
    assert depyf.compare(doubles, torch.ones(2), iter([tensor]), backends=QUICK)
    assert tensor.tolist() == [1.0, 1.0] and tensor._version == 0


def test_another_place_is_a_difference():
    """The compiled call takes one value more."""

    def once(x, items):
        return x + next(items)

    def backend(gm, inputs):
        def run(*given):
            next(held[-1])
            return gm.forward(*given)

        return torch._dynamo.disable(run)

    held = []

    @torch._dynamo.disable
    def hold(items):
        held.append(items)

    def f(x, items):
        hold(items)
        return once(x, items)

    result = depyf.compare(f, torch.ones(2), iter(NUMBERS), backend=backend, backends=QUICK)
    assert any(apart.path == "items" for apart in result.python.apart), str(result)
    apart = next(one for one in result.python.apart if one.path == "items")
    assert (apart.first, apart.second) == ("2 left", "1 left")


def test_an_iterator_of_a_set_is_named():
    result = depyf.compare(first, torch.ones(2), iter({1}), backends=QUICK)
    assert not result and "items is a set iterator, and only one run can use it" in str(result)
