def first(items):
    for item in items:
        break


def then(items, f):
    for item in items:
        break
    f(item)


def within(items, f):
    while f():
        for item in items:
            break


async def one(it, f):
    async for item in it():
        break
    await f()
