"""``not (a == b or c)`` where a person would not write ``not a == b and not c``."""


def tested(x, y):
    if not (x == 1 or y == 2):
        g()
    if not (x == 1 and y == 2):
        h()
    z()


def mixed(x, y):
    if not (x == 1 or y is None):
        g()
    if not x and not y:
        h()
    assert not (q == 1 or y == 2), x
    return [q for q in x if not (q == 1 or y == 2)]
