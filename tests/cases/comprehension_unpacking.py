# versions: 3.15+
def unpacked(lists, dicts):
    a = [*x for x in lists]
    b = {*x for x in lists if x}
    c = {**d for d in dicts if d}
    d = (*x for x in lists)
    e = [*x for y in lists for x in y]
    return list(*x for x in lists)


async def unpacked_async(lists):
    a = [*x async for x in lists]
    return (*x async for x in lists), {*await x for x in lists}
