# versions: 3.12+
"""Cells of inlined comprehensions come as they come in the source, of which some is never reached."""
if 0: [lambda: i for i in ()], [lambda: j for j in ()]

g([(lambda: j)() for j in A])
y = [lambda: i for i in A if i]


class K:
    if 0: [lambda: i for i in ()], [lambda: j for j in ()]
    g([(lambda: j)() for j in A])
    y = [lambda: i for i in A if i]


class L:
    if 0: [lambda: j for j in ()], [lambda: i for i in ()]
    while True:
        g([lambda: j for j in A])


def f(k):
    if 0: [lambda: (i, j) for i in () for j in ()]
    if 0: x = y = None
    try:
        g({lambda: j for j in A})
    except E:
        x = [lambda: i for i in A]
    y = [(lambda: i)() for i in A if i]
    return x, y


def h(k):
    v = [(lambda: j)() for j in A]
    return [lambda: i for i in v]
