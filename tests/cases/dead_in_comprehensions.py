def filters(xs, seen, key):
    first = [x for x in xs if 0]
    second = (seen for x in xs if not __debug__)
    third = {key: x for x in xs for y in x if None}
    fourth = {x: y for x in xs if x.ok if False for y in (lambda: x)()}
    return first, second, third, fourth


def shares(xs, a, b):
    one = [1 if 1 else (lambda: x) for x in xs]
    two = (x if 1 else (lambda: x, b) for x in xs)
    three = [[x for x in y] if 1 else [a for z in y] for y in xs]
    return one, two, three, lambda c: a if 1 else (lambda: c)


def handlers(xs):
    [x for x in xs]
    try:
        pass
    except KeyError:
        [lambda: x for x in xs]
    y = 1
    return
    z = [y for y in xs if (lambda: y)]


def globals_too(xs):
    global np, loads
    import numpy as np
    from json import loads, dumps
    return [np.x for np in xs], {loads for loads in xs}, dumps


async def later(xs, ready):
    return [x for x in xs if 0 and await ready], (x for x in xs if 0 async for y in x)


class Child(Base):
    if False:
        def method(self):
            return super().method()

    def uses(self):
        return [0 for x in self if 0 and super().uses]

    def other(self):
        return (lambda: 0 and __class__), __class__


if 0:
    [lambda: x for x in Child]
# output: 3.8-3.9
def filters(xs, seen, key):
    first = [x for x in xs if 0]
    second = (seen for x in xs if False)
    third = {key: x for x in xs for y in x if None}
    fourth = {x: y for x in xs if x.ok and False for y in (lambda: x)()}
    return first, second, third, fourth


def shares(xs, a, b):
    one = [1 if 1 else (lambda: x) for x in xs]
    two = (x if 1 else b or (lambda: x) for x in xs)
    three = [[x for x in y] if 1 else a for y in xs]
    return one, two, three, lambda c: a if 1 else (lambda: c)


def handlers(xs):
    [x for x in xs]
    y = 1
    return


def globals_too(xs):
    global loads, np
    import numpy as np
    from json import loads, dumps
    return [np.x for np in xs], {loads for loads in xs}, dumps


async def later(xs, ready):
    return [x for x in xs if 0 and await ready], (x for x in xs if 0 async for y in x)


class Child(Base):
    def uses(self):
        if 0: shared = __class__
        return [0 for x in self if 0 and super().uses]

    def other(self):
        return lambda: 0 and __class__, __class__
# output: 3.10-3.11
def filters(xs, seen, key):
    first = [None for x in xs if False]
    second = (seen for x in xs if False)
    third = {key: None for x in xs for y in x if False}
    fourth = {(lambda: x): None for x in xs if x.ok if False}
    return first, second, third, fourth


def shares(xs, a, b):
    one = [1 if 1 else (lambda: x) for x in xs]
    two = (x if 1 else b or (lambda: x) for x in xs)
    three = [[x for x in y] if 1 else a for y in xs]
    return one, two, three, lambda c: a if 1 else (lambda: c)


def handlers(xs):
    [x for x in xs]
    y = 1
    return


def globals_too(xs):
    global loads, np
    import numpy as np
    from json import loads, dumps
    return [np.x for np in xs], {loads for loads in xs}, dumps


async def later(xs, ready):
    return [ready or await 0 for x in xs if False], (await 0 for x in xs if False)


class Child(Base):
    def uses(self):
        return [__class__ for x in self if False]

    def other(self):
        return lambda: 0 if 1 else __class__, __class__
# output: 3.12+
if 0: [lambda: x for x in ()]
def filters(xs, seen, key):
    first = [None for x in xs if False]
    second = (seen for x in xs if False)
    third = {None: None for x in xs for y in x if False}
    fourth = {(lambda: x) or [0 for y in ()]: None for x in xs if x.ok if False}
    return first, second, third, fourth


def shares(xs, a, b):
    one = [1 if 1 else (lambda: x) for x in xs]
    two = (x if 1 else b or (lambda: x) for x in xs)
    three = [[x for x in y] if 1 else [0 for z in ()] for y in xs]
    return one, two, three, lambda c: a if 1 else (lambda: c)


def handlers(xs):
    if 0: [lambda: x for x in ()], [0 for y in ()]
    if 0: shared = lambda: y
    [x for x in xs]
    y = 1
    return


def globals_too(xs):
    global loads, np
    import numpy as np
    from json import loads, dumps
    return [np.x for np in xs], {loads for loads in xs}, dumps


async def later(xs, ready):
    return [None for x in xs if False], (await 0 for x in xs if False)


class Child(Base):
    def uses(self):
        if 0: shared = __class__
        return [None for x in self if False]

    def other(self):
        return lambda: 0 if 1 else __class__, __class__
