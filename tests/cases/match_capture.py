# versions: 3.10+
def capture(a):
    match a:
        case [x]:
            return x
        case {"k": v}:
            return v
        case 1 | 2 as n:
            return n
        case other:
            return other


def guard(a, b):
    match a:
        case x if x > b:
            return "greater"
        case [x, y] if x == y:
            return "pair"
    if b:
        return "b"
