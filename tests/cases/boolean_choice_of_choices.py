def assigned(a, b, c, y, z):
    x = y if (a if b else c) else z


def assigned_or(a, b, c, d, y, z):
    x = y if a or (b if c else not d) else z


def by_lambda(a, b, c, d, e):
    return lambda: a if (b if c else d) else e


def while_choice(a, b, c, d, x):
    while a if b else c or d:
        x()


def while_chosen(a, b, c, d, x):
    while a or b if c < d else a and d:
        x()
    return x


def negated(a, b, c, d, e, f):
    call(a and not (b and c) if d else not (e or f), a)
    return [not (a or b) if c else d or not (e or f) for d in a]
