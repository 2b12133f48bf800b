# versions: 3.11+
"""Bodies on the line of their ``if``: the columns of a jump tell ``continue``, those of a constant ``return None``."""


def skipped(x):
    for p in x:
        if p is x: continue
        if p.done: break
    else:
        return 1


def last(x):
    for p in x:
        if p: continue
        g(p)


def each(x):
    while x:
        if x.a: continue
        if x.b: break
        if x.c: return
        if x.d: return 5
        if x.e: raise E
        h()
        if x.f: continue
        k()
# output
"""Bodies on the line of their ``if``: the columns of a jump tell ``continue``, those of a constant ``return None``."""


def skipped(x):
    for p in x:
        if p is x:
            continue
        if p.done:
            break
    else:
        return 1


def last(x):
    for p in x:
        if p:
            continue
        g(p)


def each(x):
    while x:
        if x.a:
            continue
        if x.b:
            break
        if x.c:
            return
        if x.d:
            return 5
        if x.e:
            raise E
        h()
        if x.f:
            continue
        k()
