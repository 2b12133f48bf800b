# versions: 3.10+
def sequence(a):
    match a:
        case []:
            return 0
        case [x]:
            return x
        case [1, x, _]:
            return x
        case [x, *rest]:
            return x, rest
        case [*_, 9]:
            return 9
        case [[a, b], [c, *_, d]]:
            return a, b, c, d


def two_subjects(a, b):
    match a, b:
        case [0, _]:
            return 1
        case [x, [y, z]]:
            return x, y, z
