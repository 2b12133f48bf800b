# known: 3.10 the text reads differently
def swallow(a):
    with a:
        raise ValueError
    return 1


def in_handler(a, b):
    try:
        a()
    except ValueError as error:
        with b as x:
            use(x, error)
    return a


def yield_in_all(a, b):
    with a as x:
        try:
            yield x
        except ValueError:
            yield b
        finally:
            clean()
