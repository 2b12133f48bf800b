def f1(c): return c(1) or \
    (c(2) if c(3) else c(4))
def f2(c): return c(1) and \
    (c(2) if c(3) else c(4)) or \
    c(5)
def f3(c):
    return (c(1) or
     (c(2)
         if c(3) < c(7) < c(8) else
            c(4)))
def f4(c):
    return (c(1)
            if c(2) else
            c(1) or
            c(3)
            if c(4) else
            c(1) < c(4) < c(5))
def f5(c):
    return (c(1)
            if c(2) else
            c(1) < c(4) < c(5)
            if c(4) else
            c(1) or
            c(3))
def f6(c):
    return (c(1) and
            c(2) < c(3) < c(4) and
            c(5) < c(6) < c(7)
            or c(7) < c(8) < c(9))
def f7(c):
    return (c(1)
            and c(2) < c(3) < c(4)
            or c(5) < c(6) < c(7)
            and not c(7) < c(8) < c(9))
def f9(c):
    with c:
        return c or \
            1 < c < 3
def f10(c):
    try:
        return c or \
            1 < c < 3
    except E:
        return c and \
            (c if \
             c.d \
             else c.e)
    finally:
        g()
# output
def f1(c):
    return c(1) or (c(2) if c(3) else c(4))


def f2(c):
    return c(1) and (c(2) if c(3) else c(4)) or c(5)


def f3(c):
    return c(1) or (c(2) if c(3) < c(7) < c(8) else c(4))


def f4(c):
    return c(1) if c(2) else c(1) or c(3) if c(4) else c(1) < c(4) < c(5)


def f5(c):
    return c(1) if c(2) else c(1) < c(4) < c(5) if c(4) else c(1) or c(3)


def f6(c):
    return c(1) and c(2) < c(3) < c(4) and c(5) < c(6) < c(7) or c(7) < c(8) < c(9)


def f7(c):
    return c(1) and c(2) < c(3) < c(4) or c(5) < c(6) < c(7) and not c(7) < c(8) < c(9)


def f9(c):
    with c:
        return c or 1 < c < 3


def f10(c):
    try:
        return c or 1 < c < 3
    except E:
        return c and (c if c.d else c.e)
    finally:
        g()
