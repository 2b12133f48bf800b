class Empty:
    pass


class Documented:
    """Says so."""

    field = 1
    other = field + 1


class Derived(Base, Mixin, metaclass=Meta, key=1):
    def __init__(self, a):
        super().__init__(a)
        self.a = a

    def own(self):
        return __class__

    @classmethod
    def make(cls, *args, **kwargs):
        return cls(*args, **kwargs)

    class Inner:
        x = 1

        def method(self):
            return self.x


class Conditional:
    if flag:
        x = 1
    else:
        x = 2
    for name in names:
        use(name)
    items = [n for n in names]
