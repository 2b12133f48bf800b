# versions: 3.12+
class Reads:
    limit: int
    if wide:
        width: int

    def first(self):
        global __classdict__
        return __classdict__

    def second(self):
        global __conditional_annotations__
        __conditional_annotations__ = self
        return __conditional_annotations__

    def third(self, __classdict__):
        return __classdict__


def outside():
    return __classdict__
