def outer(a):
    """Outer."""
    b = 1

    def middle(c):
        """Middle."""
        def inner(d=c):
            return a + b + c + d

        return inner

    class Local:
        value = a

        def method(self):
            return b

    return middle, Local
