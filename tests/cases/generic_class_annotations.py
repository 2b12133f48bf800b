# versions: 3.12+
class Outer:
    class Inner[T: int](Base[T], metaclass=Meta):
        z: T


class Flat[T]:
    z: T
    y: list[T] = []
