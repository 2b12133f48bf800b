# versions: 3.9+
def sets(f):
    f({1, 2, 2})
    f({1, 1, 1})
    return {1, 1}


def stars(a):
    x = [*(1, 2), a, *(3,)]
    x = {a, *(1, 2)}
    return [*(), a]
