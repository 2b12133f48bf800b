def simple(a):
    with a:
        use(a)


def named(a):
    with a() as x:
        use(x)
    after()


def several(a, b):
    with a() as x, b() as y:
        use(x, y)


def nested(a, b):
    with a() as x:
        use(x)
        with b() as y:
            use(y)
    after()


def unpacking(a):
    with a() as (x, y), a() as y.field:
        use(x, y)


def returning(a):
    with a() as x:
        return use(x)


def conditional(a, b):
    with a() as x:
        if b:
            return x
        use(x)


def in_try(a):
    try:
        with a() as x:
            use(x)
    except ValueError:
        handle()
    finally:
        clean()
