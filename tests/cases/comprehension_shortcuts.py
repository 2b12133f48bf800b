# versions: 3.10+
def single_values(a):
    one = [y for x in a for y in [f(x)] if y]
    two = {y: z for x in a for y in [x] for z in [y + x]}
    three = {y * y for x in a if x for y, z in [(x, x)] for w in z}
    return (x + y for x in a for y in [f(x)])


def never(a):
    one = [None for x in a if False]
    two = {None: None for x in a for y in x if y if False}
    return (None for x in a if False)
