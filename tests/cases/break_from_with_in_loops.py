# versions: 3.10+
"""The same in a loop inside a loop; before 3.10, what drops the iterators has no line of its own."""


def nested(n):
    for a in n:
        for b in a:
            with f(a):
                break
        else:
            raise last
        return 5
