async def before_definition(x):
    async for a in x:
        break
    else:
        return

    def inner(a, /):
        pass

    if x:
        g()


async def before_constant(x):
    async for a in x:
        break
    else:
        return
    y = 0
    if x:
        return
