def unpacked(a, b, c, xs):
    x, a[b and c] = xs
    a[b if c else x], y = xs
    a[b < c < x], x, *a[not b or c] = xs
    (x, a[b or c]), (y, (a or b).c) = xs
    x, (a if b else c)[b and c : a or b] = xs
    return x, y


def chained(a, b, c, xs):
    y = x, a[b or c] = xs
    x, a[b or c] = z = xs
    x, a[b or c] = y, a[b and z] = xs
    a[b or c] = a[b and c], y = (x, z) if a else xs
    return x, y


def swapped(a, i, j):
    a[i or 0], a[j or 0] = a[j or 0], a[i or 0]
    x, a[j if i else x], a[i and j] = a[j or 0], i < j < 2, 2
    a[i or j], (x, a[i and j]) = j or i, i and x
    a[[b for b in j]], x = a, x
    a[x(i, j, a, i, j, a, i, j, a, i, j, a, i, j, a, i, j, a, i, j, a, i)], x.y = x, a
    return x


def statements(a, b, c, xs):
    for x, a[b or c] in xs:
        print(x)
    with xs as (x, a[b or c]), c as (a[x and b], y):
        print(y)
    try:
        a[b or c], x = xs
    except x:
        y, a[b and c] = xs
    finally:
        x, a[b if x else y] = xs
    return x


def comprehensions(a, b, c, xs):
    print([x for x, a[b or c] in xs])
    print({x for a[b if c else x], x in xs if x})
    print(x for (y, a[b and x]), x in xs if y)
    print([x for y in b for x, a[b or c] in y for x, a[x and b] in y])
    return {x: y for x, (y, (b or c).z) in xs for b in x}


async def awaited(a, b, c, xs):
    a[await b or c], x, *a[await c and b] = xs
    a[await b or c], a[await c] = c, b
    async for x, a[await b or c] in xs:
        print(x)
    async with a as (x, a[await b or c]):
        print(x)
    return [x async for x, a[await b or x] in xs]


def resumed(a, b, c, xs):
    x, a[(yield b) or c], (yield).z = xs
    return x


class Table:
    first, rows[first or 0] = pair
    for first, rows[first and 1] in pairs:
        pass


x, a[b or c] = xs
