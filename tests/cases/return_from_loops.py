def inner(x):
    for i in x:
        for j in i:
            if j:
                return j.z


def two(x):
    for i in x:
        for j in i:
            if j:
                return j.z
            if i:
                return j.y


def after_continue(x, f):
    for i in x:
        for j in i:
            if j is x:
                continue
            if j:
                return f(j)
    return x
