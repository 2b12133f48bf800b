import builtins

x = builtins.__debug__


class Cell:
    __classcell__ = 42
    __static_attributes__ = 3

    def f(self):
        self.x = 1
        return __class__


class Listed:
    __static_attributes__ = ("a",)
