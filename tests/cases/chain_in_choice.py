"""A chained comparison as one side of a conditional expression that is stored."""


def ranges(start, x, stop, step):
    inside = start <= x < stop if step > 0 else stop < x <= start
    if inside:
        return x
    return 0


def one(start, x, stop, step):
    inside = start <= x < stop if step else stop
    return inside


def other(start, x, stop, step):
    inside = start if step else start <= x < stop
    if inside:
        stop()
