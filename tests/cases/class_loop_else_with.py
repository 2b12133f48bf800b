"""Without line numbers a flag is needed here, and the start of the class body comes after it."""


class C2:
    while x:
        if w:
            break
    else:
        with f:
            pass


async def awaited():
    async for a in x:
        async for y in z:
            break
        else:
            continue
        del x.m
