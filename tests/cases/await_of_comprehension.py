"""A comprehension that is awaited: one that awaits itself is awaited by the compiler already (up to 3.11)."""


async def f(c):
    await [j for j in c]
    x = await (j for j in c)
    return await [j async for j in c]


async def g(c):
    await {j for j in c}
    return await {j: 1 for j in c}


async def h(c):
    async for x in [j for j in c]:
        pass
    async with [j for j in c] as d:
        pass
    await [j for j in c].x
    await [await j for j in c]
    yield [j for j in c], [j async for j in c]


async def k(c):
    if await [await j for j in c]:
        return await {j for j in await c}
    return {await (j for j in i) for i in c}
