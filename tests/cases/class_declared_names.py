# versions: 3.12+
class Generic[T]:
    global k, y
    def method[U](self, x=y):
        return x

    def keyword[U](self, *, z=y):
        return z

    class Inner[U](y):
        pass

    @k
    def bounded[U: y](self, x=lambda: y):
        pass

    type Alias[U] = (y, U)


def around(y, k):
    class Shared:
        nonlocal y
        def method[U](self, x: y = y) -> U:
            return k

        y = 2

    return Shared
