"""Arms of one expression that end alike by chance, with another between them: none is a copy of another."""


def b1(a, b, e, i, call):
    call(i is None if b else a if e else a is None)


def b2(a, b, e, i, call):
    call(i.x if b else a if e else a.x)


def b3(a, b, e, i, call):
    call(not i if b else a if e else not a)


def b4(a, b, e, i, call):
    call(not i if b else a if e else not a)
    return 1


def b5(a, b, e, i, call):
    not i if b else a if e else not a


def b6(a, b, e, i, call):
    not i if b else a.x if e else not a


def b7(a, b, e, i, call):
    not i if b else i < a < b if e else not a


def b8(a, b, e, i, call):
    a.x if b else i < a < b if e else i.x


def a1(h, i, j, k):
    not j if j else i < j <= j if i else not h


def y1(a, b, e, i):
    q = yield i.x if b else a if e else a.x
    return q


def four(a, b, e, i, call):
    call(i.x if b else a.y if e else a.x if i else b.y)
