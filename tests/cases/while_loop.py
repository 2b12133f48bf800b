def simple(a):
    while a:
        a = step(a)
    return a


def forever():
    while True:
        step()


def with_break(a, b):
    while a:
        if b(a):
            break
        a = step(a)
    return a


def with_continue(a, b):
    while a:
        a = step(a)
        if b(a):
            continue
        use(a)


def condition(a, b, c):
    while a and (b or c):
        a = step(a)


def forever_break(a):
    while True:
        a = step(a)
        if a:
            break
    return a


def nested(a, b):
    while a:
        while b:
            b = step(b)
        a = step(a)
