async def simple(a):
    return await a


async def several(a, b):
    x = await a()
    y = (await b()).value
    print(await a, [await b])
    return await x(await y)


async def loop(a):
    async for item in a:
        use(item)


async def loop_else(a):
    async for x, y in a:
        if x:
            break
        if y:
            continue
        use(y)
    else:
        missing()
    after()


async def manager(a):
    async with a as x:
        use(x)


async def managers(a, b):
    async with a() as x, b() as y:
        await use(x, y)
    after()


async def returning(a):
    async with a as x:
        return await x


async def in_try(a):
    try:
        await a()
    except ValueError as error:
        await handle(error)
    finally:
        await clean()
