class Branches:
    def start(self):
        super().start()

    timeout = 1
    if hasattr(signal, "setitimer"):
        alarm = 0.05

        def run(self, seconds):
            self.seconds = seconds

    else:
        alarm = 2


class Loop:
    for x in a:
        if x:
            def f(self):
                self.a = __class__


class Names:
    __classcell__ = 42
    __static_attributes__ = ("q",)
    __slots__ = ["__classcell__"]

    def f(self):
        return __class__
