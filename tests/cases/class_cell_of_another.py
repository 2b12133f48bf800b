class Outer:
    def method(self):
        class Inner:
            nonlocal __class__
            def other(self):
                return __class__

        return Inner
