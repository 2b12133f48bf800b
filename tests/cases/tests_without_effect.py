def f(xs):
    return tuple((C(S if x or ... else T) for x in xs))


if w:
    while ():
        pass
else:
    note(1)


def g(x, a, b):
    y = a if x or ... else b
    if x or ...:
        y()
    if x and (): a()
    z = a if x and 0 else b
    return y, [(a if x or 1 else b) for x in a], [1 for x in a if x or 1], [(a if x and 0 else b) for x in a]
h = lambda x, a, b: a if x or 1 else b
h2 = lambda x, a, b: (b if x and 0 else a.b[x]) + 3
def k(x, y, s, t):
    z(1, s if x or 1 else t, [s if (x and y) or 1 else t], q=(s.m(1) if x and 0 else t(1, 2)))
    w = 1 + (s if x or 1 else t)
    w = [1 + (s if x or 1 else t) for x in y]
    w = {1 + (s if x or 1 else t): 3 for x in y}
    for x in y:
        if x or 1:
            pass
        with (s if x or 1 else t) as m, n(s if x or 1 else t):
            return (x, s if x or 1 else t)
    return f"{x}{s if x or 1 else t}"
# output: 3.8-3.9
def f(xs):
    return tuple(C(S if x or True else 0) for x in xs)


if w:
    pass
else:
    note(1)


def g(x, a, b):
    if not x:
        pass
    y = a
    if not x:
        pass
    y()
    if x and ():
        a()
    z = a if x and 0 else b
    return (
        y,
        [a if 1 else b for x in a if x or True],
        [1 for x in a if x or True],
        [a if x and 0 else b for x in a],
    )


h = lambda x, a, b: a if x or True else 0
h2 = lambda x, a, b: (b if x and 0 else a.b[x]) + 3


def k(x, y, s, t):
    z(1, s if x or True else 0, [s if x and y or True else 0], q=s.m(1) if x and 0 else t(1, 2))
    w = 1 + (s if x or True else 0)
    w = [1 + (s if x or True else 0) if 1 else t for x in y]
    w = {1 + (s if x or True else 0): 3 if 1 else t for x in y}
    for x in y:
        if not x:
            pass
        if not x:
            pass
        with s as m, n(s if x or True else 0):
            return x, s if x or True else 0
    return f"{x}{s if x or True else 0}"
# output: 3.10-3.11
def f(xs):
    return tuple(C(S if x or True else 0) for x in xs)


if w:
    pass
else:
    note(1)


def g(x, a, b):
    if not x:
        pass
    y = a
    if not x:
        pass
    y()
    if x:
        pass
    if x:
        pass
    z = b
    return (
        y,
        [a if 1 else b for x in a if x or True],
        [1 for x in a if x or True],
        [b if 1 else a for x in a if x or True],
    )


h = lambda x, a, b: a if x or True else 0
h2 = lambda x, a, b: (a if x or True else 0).b[x] + 3


def k(x, y, s, t):
    z(1, s if x or True else 0, [s if x and y or True else 0], q=(t if x or True else 0)(1, 2))
    w = 1 + (s if x or True else 0)
    w = [1 + (s if x or True else 0) if 1 else t for x in y]
    w = {1 + (s if x or True else 0): 3 if 1 else t for x in y}
    for x in y:
        if not x:
            pass
        if not x:
            pass
        with s as m, n(s if x or True else 0):
            return x, s if x or True else 0
    return f"{x}{s if x or True else 0}"
# output: 3.12-3.13
def f(xs):
    return tuple(C(S if x or True else 0) for x in xs)


if w:
    pass
else:
    note(1)


def g(x, a, b):
    if not x:
        pass
    y = a
    if not x:
        pass
    y()
    if x:
        pass
    if x:
        pass
    z = b
    return y, [a for x in a if x or True], [1 for x in a if x or True], [b for x in a if x or True]


h = lambda x, a, b: a if x or True else 0
h2 = lambda x, a, b: (a if x or True else 0).b[x] + 3


def k(x, y, s, t):
    z(1, s if x or True else 0, [s if x and y or True else 0], q=(t if x or True else 0)(1, 2))
    w = 1 + (s if x or True else 0)
    w = [1 + (s if x or True else 0) for x in y]
    w = {1 + (s if x or True else 0): 3 for x in y}
    for x in y:
        if not x:
            pass
        if not x:
            pass
        with s as m, n(s if x or True else 0):
            return x, s if x or True else 0
    return f"{x}{s if x or True else 0}"
# output: 3.14+
def f(xs):
    return tuple(C(S if x or True else 0) for x in xs)


if w:
    while ():
        pass
else:
    note(1)


def g(x, a, b):
    if not x:
        pass
    y = a
    if not x:
        pass
    y()
    if x and ():
        a()
    if x:
        pass
    z = b
    return y, [a for x in a if x or True], [1 for x in a if x or True], [b for x in a if x or True]


h = lambda x, a, b: a if x or True else 0
h2 = lambda x, a, b: (a if x or True else 0).b[x] + 3


def k(x, y, s, t):
    z(1, s if x or True else 0, [s if x and y or True else 0], q=(t if x or True else 0)(1, 2))
    w = 1 + (s if x or True else 0)
    w = [1 + (s if x or True else 0) for x in y]
    w = {1 + (s if x or True else 0): 3 for x in y}
    for x in y:
        if not x:
            pass
        if not x:
            pass
        with s as m, n(s if x or True else 0):
            return x, s if x or True else 0
    return f"{x}{s if x or True else 0}"
