# versions: 3.14+
class Outer:
    class Inner:
        if x:
            a: int = 1


class Method:
    def m(self):
        class C:
            for i in x:
                a: int = i
