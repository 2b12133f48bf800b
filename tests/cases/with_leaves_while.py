def raises(x, a, b):
    while x():
        with a:
            raise b


def returns(x, a, f):
    while x():
        with a:
            return f()


def either(x, a, f, z):
    while x():
        with a:
            if z:
                return f()
            raise z
