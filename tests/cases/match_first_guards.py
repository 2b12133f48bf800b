# versions: 3.10+
"""Cases of which nothing but the guard is left (3.12+), several before the first pattern."""


def guards1(x, s):
    match x:
        case _ if s(1):
            return 1
        case _ if s(0):
            return 2
        case A():
            return 3
        case _:
            return 4


def guards2(x, s):
    match x:
        case _ if s(1):
            return 1
        case A():
            return 3
        case B(z):
            return z


def guards3(x, s):
    match x:
        case A():
            return 3
        case _ if s(1):
            return 1
        case B(z):
            return z
        case _ if s(2):
            k()
        case _:
            y = 2
    return y


def guards4(x, s):
    match x.y:
        case _ if s(1):
            y = 1
        case _ if s(0):
            y = 2
        case A():
            y = 3
    return y


def guards5(x, a, b, c, d):
    match x:
        case _ if a or b:
            y = 1
        case _ if c and d:
            y = 2
        case _ if a if c else d:
            y = 5
        case [z]:
            y = z
    return y
