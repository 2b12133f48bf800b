def lists(a, b):
    one = [x for x in a]
    two = [f(x) for x in a if x]
    three = [x + y for x in a for y in x if y and x]
    four = [[y for y in x] for x in a]
    five = [x for x, (y, *z) in a]
    return [b + x for x in a if x not in b]


def others(a, b):
    one = {x for x in a}
    two = {x: f(x) for x in a if x or b}
    three = {k: v for k, v in a.items()}
    four = (x for x in a)
    five = sum(x for x in a if x > b)
    return {k: [v for v in vs] for k, vs in a}


def scoped(a):
    x = 1
    y = [x for x in a]
    return x, y, [lambda: z for z in a]


def conditional(a, b):
    return [x if x else b for x in a if x and b or a]
