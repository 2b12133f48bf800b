class Line:
    __firstlineno__ = 24
    a = 1


class Twice:
    __qualname__ = "Once"
    __module__ = __name__
    __static_attributes__ = ("a",)
    a = 1
    __firstlineno__ = "x"


class Global:
    global __module__, __name__
    a = 1


def around(__qualname__):
    class Inner:
        nonlocal __qualname__
        def method(self):
            return super()

    return Inner
