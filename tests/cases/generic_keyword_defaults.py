# versions: 3.12+
def only[T](*, b=None):
    pass


def beside[T](a=2, *c, b=None, d, e=2) -> T:
    pass


class A[T: int]:
    async def method[S](self, *, b=x):
        pass

    @g
    def decorated[S, *Ts, **P](a=1):
        pass
