def plain():
    pass


def params(a, b=1, *args, c, d=2, **kwargs):
    return a


def keyword_only(*, a, b=None):
    return a


def positional_only(a, b=1, /, c=2, *, d):
    return a


def annotated(a: int, b: "str" = "x", *args: tuple, c: list = [], **kwargs: dict) -> None:
    return a


def documented(a):
    """One line."""
    return a


def documented_only():
    """Nothing else.

    But with two paragraphs.
    """
