def first(a, b, c):
    if not a if b else c:
        d()
    e()


def second(a, b, c):
    if a if b else not c:
        pass
    else:
        for d in e:
            f()


def both(a, b, c):
    while not (a if b else c):
        d()
    e()


def grouped(a, b, c):
    while a(1) or (b if a else not c):
        d()
    e()


class C:
    if a if b else not c:
        pass
    else:
        for d in e:
            f()
# output: 3.10
def first(a, b, c):
    if not a if b else c:
        d()
    e()


def second(a, b, c):
    if a if b else not c:
        return
    for d in e:
        f()


def both(a, b, c):
    while not (a if b else c):
        d()
    e()


def grouped(a, b, c):
    while a(1) or (b if a else not c):
        d()
    e()


class C:
    if a if b else not c:
        pass
    else:
        for d in e:
            f()
