# versions: 3.12+
# known ugly: 3.12 <module>: FAILED original CALL 1 args and recompiled CALL 0 args: 2 against 1 operands
# known ugly: 3.13+ <module>: FAILED original CALL 0 args and recompiled CALL 0 args: 2 against 1 operands
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
