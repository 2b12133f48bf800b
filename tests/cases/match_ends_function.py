# versions: 3.10+
def last_goes_on(f, x):
    match f:
        case [a, b]:
            return
        case _:
            x()


def in_case(f, x):
    match f:
        case x(a):
            with a:
                del a.m
