# versions: 3.11+
def returned(a, b, c):
    if not (a or b):
        return 1
    if not a and not b:
        return 2
    if not (a and b):
        return 3
    if not a or not b:
        return 4
    if c and not (a or b.x is None):
        return 5
    if c or not a or not b:
        return 7
    if not (a == 1 or b == 2 or c):
        return 8
    if a != 1 and b != 2 and not c:
        return 9


def looped(a, b, c):
    while not (a and b):
        a.step()
    while not a or not b:
        b.step()
    for x in c:
        if not (x.a or x.b):
            continue
        if not x.c or not x.d:
            continue
        x.step()


def on_lines(first, second, third):
    if (
        not first.could_be_anything_at_all
        or not second.could_be_anything_at_all
        or not third.could_be_anything_at_all
    ):
        return first
    if (
        not (
            first.could_be_anything_at_all
            or second.could_be_anything_at_all
            or third.could_be_anything_at_all
        )
    ):
        return second
    return third
