def maker():
    if 0: __class__ = None
    def method(self):
        return __class__

    return method


def assigned():
    __class__ = 42

    def method(self):
        return __class__

    return method
