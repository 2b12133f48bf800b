class C:
    __annotate__ = lambda format: {"what": int}


class D:
    def __annotate__(format):
        return {"what": str}


def f():
    class E:
        __annotate__ = lambda format: {"what": int}
        __annotate_func__ = helper
    return E


__annotate__ = lambda format: {}
# output
class C:
    __annotate__ = lambda format: {"what": int}


class D:
    def __annotate__(format):
        return {"what": str}


def f():
    class E:
        __annotate__ = lambda format: {"what": int}
        __annotate_func__ = helper

    return E


__annotate__ = lambda format: {}
