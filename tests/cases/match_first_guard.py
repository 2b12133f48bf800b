# versions: 3.10+
"""A first case that is nothing but its guard, or a name and its guard."""


def literal(x):
    match x:
        case _ if not x:
            y = 0
        case 0:
            y = 1
    return y


def captured(x):
    match x:
        case z if not x:
            y = 0
        case z:
            y = 1
    return y, z


def behind(x, z):
    match x:
        case _ if not x:
            y = 0
        case z if not x:
            y = 1
    return y, z
