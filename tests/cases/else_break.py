# versions: 3.10+
"""``break`` in the ``else`` of a ``try`` is no ``break`` at the end of its body: lines tell."""


def retried(n):
    while True:
        try:
            f(n)
        except A as e:
            g(e)
        except B:
            h()
        else:
            break
        k()
    m()


def ended(n):
    while True:
        try:
            f(n)
            break
        except A as e:
            g(e)
        except B:
            h()
        k()
    m()


def first(n):
    depth = 0
    for x in n:
        try:
            f(x)
        except A:
            depth += 1
        else:
            break
    g(depth + n)


def first_ended(n):
    depth = 0
    for x in n:
        try:
            f(x)
            break
        except A:
            depth += 1
    g(depth + n)


async def awaited(n):
    async for x in n:
        try:
            await f()
        except A:
            g()
        else:
            break
    return 1


for x in y:
    try:
        x()
    except A:
        pass
    else:
        break
