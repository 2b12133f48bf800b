# versions: 3.11+
# known ugly: 3.11+ g8: FAILED original BRANCH false and recompiled BRANCH false: lifetimes differ: __temp_0 still holds an object that the original has released -- the temporary of the subject is read by the next match too: no statement can empty it where a case takes it
def g1(a, x, f, g):
    match a:
        case {"k": 1, **b} if a and x:
            f()


def g2(a, x, f, g):
    match a:
        case [a, b] if b:
            f()
    g()


def g3(a, x, f, g):
    match a:
        case [a, b] if b:
            return f()
        case [a] if b:
            f()
        case [b]:
            g()


def g4(a, x, f, g):
    match a:
        case [a, b]:
            return f()
        case [a] if b:
            f()


def g5(a, x, f, g):
    match a:
        case [a, b]:
            return f()
        case [a] if b:
            f()
    return 2


def g6(a, x, f, g):
    for i in a:
        match a:
            case [a, b]:
                f()
            case [a] if b:
                f()


def g7(a, x, f, g):
    for i in a:
        match a:
            case [a, b] if b:
                f()
        g()


def g8(a, x, f, g):
    match a:
        case {"k": 1, **b} if a and x:
            pass
        case [a, b] if b:
            pass
