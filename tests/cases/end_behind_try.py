"""Without line numbers the copies of the end of the function are one place, too."""


def deleted(x):
    try:
        if x == 1:
            c
    except KeyError:
        pass
    del b
