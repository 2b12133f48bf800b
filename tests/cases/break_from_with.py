"""``break`` out of a ``with`` in a loop, and a ``return`` behind the loop that only that way leads to."""


def with_else(n):
    for a in n:
        with f(a):
            break
    else:
        raise last
    return 5


def without_else(n):
    for a in n:
        with f(a):
            break
    return 5


def returned(n):
    for a in n:
        with f(a):
            return 5
    raise last


def in_test(n):
    for a in n:
        with f(a):
            if x:
                break
            g()
    else:
        raise last
    return 5


def in_while(n):
    while a:
        with f(a):
            break
    else:
        raise last
    return 5


def through_finally(n):
    for a in n:
        try:
            f(a)
            break
        except V:
            g()
        finally:
            log(a)
    else:
        raise last
    return 5


async def awaited(n):
    async for a in n:
        async with f(a):
            break
    else:
        raise last
    return 5
