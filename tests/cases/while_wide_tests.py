def chained(a, b, c, z, g):
    while a < b < (c or z):
        g()


def compared(a, y, z, g):
    while y not in () != (a or z):
        g()


def called(a, b, c, x, g):
    while g or (a if c else b)(x):
        g()


def twice(a, b, c, z, g):
    while a and b < (c or z):
        g()
    while a is not (b if c else z):
        g()
