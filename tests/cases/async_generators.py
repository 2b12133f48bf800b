async def simple(a):
    yield a
    x = yield await a
    use(x)


async def loop(a):
    async for item in a:
        yield item


async def managed(a):
    async with a as x:
        yield x


async def comprehensions(a, b):
    one = [x async for x in a]
    two = {x async for x in a if x}
    three = {x: await y async for x, y in a}
    four = [await x for x in a]
    five = (x async for x in a)
    return [x async for y in a async for x in y if await b(x)]
