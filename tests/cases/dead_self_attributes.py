# versions: 3.13+
class Base:
    count = 0

    def check(self):
        raise NotImplementedError
        self.checked, self.__hidden = True, ()

    def later(self):
        self.count += 1
        return self.count

        def inner():
            for self.turn in range(3):
                pass
            with opened() as (self.first, *self.rest):
                del self.nothing
            self.only: int
            self.noted: int = 3
            self._Base__spelled = 4


class Nested:
    "Its attributes come from a class in a method and from a lambda."

    @staticmethod
    def make(value):
        if 0:
            class Inner:
                self.outer = value

                def method(self):
                    self.inner = 1
        return value

    class Second[T]:
        def method[U](this, self: U) -> T:
            if not __debug__:
                self.debug = this


def maker():
    class Local:
        if False:
            def method(self):
                [0 for self.item in self]

        def other(this):
            return this

    return Local
# output
class Base:
    count = 0

    def check(self):
        if 0: self._Base__spelled = self.__hidden = self.checked = self.first = self.noted = self.rest = self.turn = None
        raise NotImplementedError

    def later(self):
        if 0: shared = lambda: self
        self.count += 1
        return self.count


class Nested:
    """Its attributes come from a class in a method and from a lambda."""
    if 0: lambda self: [0 for self.outer in ()]

    @staticmethod
    def make(value):
        if 0: shared = lambda: value
        return value

    class Second[T]:
        def method[U](this, self: U) -> T:
            if 0: self.debug = None
            pass


def maker():
    class Local:
        if 0: lambda self: [0 for self.item in ()]
        def other(this):
            return this

    return Local
