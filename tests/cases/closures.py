def counter(start):
    count = start

    def step(by=1):
        nonlocal count
        count += by
        return count

    def reset():
        nonlocal count
        count = start

    return step, reset


def adders(values):
    return [lambda x: x + value for value in values]


def recursive(n):
    def inner(k):
        if k:
            return inner(k - 1)
        return n

    return inner(n)


def deleting(a):
    def use():
        return a

    del a
    return use
