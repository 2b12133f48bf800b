def filters(xs):
    a = [x for x in xs if (True if x is None else x.ok)]
    b = {x for x in xs if (True if not x.a else x.b) and x.c}
    c = {x: 1 for x in xs if x.c and (1 if x.a else x.b)}
    d = (x for x in xs if not (True if x.a else x.b))
    e = [x for x in xs if (x.e if (True if x.a else x.b) else x.c)]
    f = [x for x in xs if (True if 1 < x.a < 3 else x.b) if (True if x.b else 1 < x.c < 3) for y in x if (True if y else x)]
    g = [(True if x.a else x.b) and x.c for x in xs if x.a and True or x.b and True or x.c]
    h = [x for x in xs if (True if x.a else False)] + [x for x in xs if (True if x.a else True)]
    i = lambda x: 1 if (True if x is None else x.ok) else 2
    return a, b, c, d, e, f, g, h, i


def statements(a, b, c):
    if True if a else b:
        note(1)
    while True if a else b:
        note(2)
    assert True if a else b
    if (True if a else b) and c:
        note(3)
    elif c or (True if a else b):
        note(4)
    if not (True if a else b):
        return a if (True if b else c) else b
    return True if a else b


def chain(a, b):
    if a:
        pass
    elif b:
        pass
    else:
        return 2
    return 1
# output: 3.8-3.9
def filters(xs):
    a = [x for x in xs if (True if x is None else x.ok)]
    b = {x for x in xs if (True if not x.a else x.b) and x.c}
    c = {x: 1 for x in xs if x.c and (True if x.a else x.b)}
    d = (x for x in xs if not (True if x.a else x.b))
    e = [x for x in xs if (x.e if (True if x.a else x.b) else x.c)]
    f = [
        x
        for x in xs
        if (True if 1 < x.a < 3 else x.b) and (True if x.b else 1 < x.c < 3)
        for y in x
        if (True if y else x)
    ]
    g = [(True if x.a else x.b) and x.c for x in xs if x.a and True or x.b and True or x.c]
    h = [x for x in xs if (True if x.a else False)] + [x for x in xs if x.a or True]
    i = lambda x: 1 if (True if x is None else x.ok) else 2
    return a, b, c, d, e, f, g, h, i


def statements(a, b, c):
    if True if a else b:
        note(1)
    while True if a else b:
        note(2)
    assert True if a else b
    if (True if a else b) and c:
        note(3)
    elif True if c or a else b:
        note(4)
    if not (True if a else b):
        return a if (True if b else c) else b
    return True if a else b


def chain(a, b):
    if a:
        pass
    elif b:
        pass
    else:
        return 2
    return 1
# output: 3.10
def filters(xs):
    a = [x for x in xs if (True if x is None else x.ok)]
    b = {x for x in xs if (True if not x.a else x.b) and x.c}
    c = {x: 1 for x in xs if x.c and (True if x.a else x.b)}
    d = (x for x in xs if not (True if x.a else x.b))
    e = [x for x in xs if (x.e if (True if x.a else x.b) else x.c)]
    f = [
        x
        for x in xs
        if (True if 1 < x.a < 3 else x.b) and (True if x.b else 1 < x.c < 3)
        for y in x
        if (True if y else x)
    ]
    g = [(True if x.a else x.b) and x.c for x in xs if (True if (True if x.a else x.b) else x.c)]
    h = [x for x in xs if x.a] + [x for x in xs if x.a or True]
    i = lambda x: 1 if x is None else 1 if x.ok else 2
    return a, b, c, d, e, f, g, h, i


def statements(a, b, c):
    if True if a else b:
        note(1)
    while True if a else b:
        note(2)
    assert True if a else b
    if (True if a else b) and c:
        note(3)
    elif True if c or a else b:
        note(4)
    if not (True if a else b):
        return a if b else a if c else b
    return True if a else b


def chain(a, b):
    if a:
        pass
    elif b:
        pass
    else:
        return 2
    return 1
# output: 3.11
def filters(xs):
    a = [x for x in xs if (True if x is None else x.ok)]
    b = {x for x in xs if (True if not x.a else x.b) and x.c}
    c = {x: 1 for x in xs if x.c and (True if x.a else x.b)}
    d = (x for x in xs if not (True if x.a else x.b))
    e = [x for x in xs if (x.e if (True if x.a else x.b) else x.c)]
    f = [
        x
        for x in xs
        if (True if 1 < x.a < 3 else x.b) and (True if x.b else 1 < x.c < 3)
        for y in x
        if (True if y else x)
    ]
    g = [(True if x.a else x.b) and x.c for x in xs if (True if (True if x.a else x.b) else x.c)]
    h = [x for x in xs if x.a] + [x for x in xs if x.a or True]
    i = lambda x: 1 if (True if x is None else x.ok) else 2
    return a, b, c, d, e, f, g, h, i


def statements(a, b, c):
    if True if a else b:
        note(1)
    while True if a else b:
        note(2)
    assert True if a else b
    if (True if a else b) and c:
        note(3)
    elif True if c or a else b:
        note(4)
    if not (True if a else b):
        return a if (True if b else c) else b
    return True if a else b


def chain(a, b):
    if a:
        pass
    elif b:
        pass
    else:
        return 2
    return 1
# output: 3.12+
def filters(xs):
    a = [x for x in xs if (True if x is None else x.ok)]
    b = {x for x in xs if (True if not x.a else x.b) and x.c}
    c = {x: 1 for x in xs if x.c and (True if x.a else x.b)}
    d = (x for x in xs if not (True if x.a else x.b))
    e = [x for x in xs if (x.e if (True if x.a else x.b) else x.c)]
    f = [
        x
        for x in xs
        if (True if 1 < x.a < 3 else x.b) and (True if x.b else 1 < x.c < 3)
        for y in x
        if (True if y else x)
    ]
    g = [(True if x.a else x.b) and x.c for x in xs if (True if (True if x.a else x.b) else x.c)]
    h = [x for x in xs if x.a] + [x for x in xs if x.a or True]
    i = lambda x: 1 if (True if x is None else x.ok) else 2
    return a, b, c, d, e, f, g, h, i


def statements(a, b, c):
    if True if a else b:
        note(1)
    while True if a else b:
        note(2)
    assert True if a else b
    if (True if a else b) and c:
        note(3)
    elif True if c or a else b:
        note(4)
    if not (True if a else b):
        if True if b else c:
            return a
        return b
    return True if a else b


def chain(a, b):
    if a:
        pass
    elif b:
        pass
    else:
        return 2
    return 1
