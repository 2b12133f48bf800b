"""``break`` and ``else`` of asynchronous loops in other loops."""


async def m1(x, g):
    async for a in x:
        async for y in g(a):
            break
        else:
            continue
        w(y)


async def m2(x, g):
    async for a in x:
        async for y in g(a):
            if y:
                break
        else:
            continue
        w(y)


async def m3(x, g):
    for a in x:
        async for y in g(a):
            break
        else:
            continue
        w(y)


def m4(x, g):
    for a in x:
        for y in g(a):
            break
        else:
            continue
        w(y)
