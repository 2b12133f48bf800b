# versions: 3.13+
class local:
    __slots__ = ("__weakref__", "__impl")
    def f(self):
        self._local__impl = 1
    def g(self):
        self._x = 2
class other:
    __slots__ = ("__weakref__", "__impl")
    def f(self):
        self.__impl = 1
    def g(self):
        self.x = 2
class local2:
    def f(self):
        self.__impl = 1
class _local:
    def f(self):
        self.__impl__ = 1
        self.__impl = 1
# output
class local:
    __slots__ = "__weakref__", "__impl"

    def f(self):
        self._local__impl = 1

    def g(self):
        self._x = 2


class other:
    __slots__ = "__weakref__", "__impl"

    def f(self):
        self.__impl = 1

    def g(self):
        self.x = 2


class local2:
    def f(self):
        self.__impl = 1


class _local:
    def f(self):
        self.__impl__ = 1
        self.__impl = 1
