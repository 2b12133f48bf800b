# versions: 3.11+
def tests(a, b, c):
    if b if a else True:
        x()
    if b if a else False:
        y()
    while b if a else True:
        if not (b if a else True):
            continue
        x()
    if b or c if a else True:
        z()
    assert b.d < 3 if a is None else True


def filters(a, b):
    return [z for z in y if (b if z else True)] + [z for z in y if (z.a or z.b if z else False)]


def both(a, b):
    if a and (b.d < 3 if a.x else False):
        x()
