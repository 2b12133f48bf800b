class Names:
    __classcell__ = 42
    __static_attributes__ = ("q",)
    __slots__ = ["__classcell__"]

    def f(self):
        return __class__
