def simple(items):
    for item in items:
        yield item


def delegating(a):
    x = yield from a
    return x


def sending():
    while True:
        x = yield
        y = yield x
        use(y)


def in_try(a):
    try:
        yield a
    except GeneratorExit:
        handle()
    finally:
        clean()


def in_with(a):
    with a as x:
        yield x


def expressions(a):
    print((yield a), (yield))
    z = [(yield 1), (yield 2)]
    return z


def never():
    return
    yield
