def nested(a, b, c, d, y):
    a and b and not (c and d)
    y()


def choice(a, b, c, d, e, y):
    a and b or (c if d else e)
    y()


def argument(a, b, c, d, e, g, y):
    g(y, a or not (b and c) if d else e, y)
