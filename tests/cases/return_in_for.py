"""A ``return`` without a value in a loop, with code behind the loop: no ``break`` and ``else``."""


def first(nodes, a, k):
    for z in nodes:
        if a:
            return
    k()


def more(nodes, a, k):
    for z in nodes:
        if a:
            k(z)
            return
        k()
    k()
    k()


def inner(nodes, a, b, k):
    for z in nodes:
        if a:
            for x, y in z:
                if a or b:
                    return
                if not b:
                    return
        if not k:
            return
    k()


def both(nodes, a):
    for z in nodes:
        for x in z:
            if a:
                return


def test_behind(nodes, a, b, n):
    for x, y in nodes:
        if a or b:
            return
    if n:
        return


async def awaited(nodes, a, k):
    async for z in nodes:
        if a:
            return
    k()
