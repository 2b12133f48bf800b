def with_in_finally(b, x):
    try:
        h()
    except OSError as y:
        try:
            return b
        finally:
            with x:
                pass


def finally_in_handler(a, c):
    try:
        f()
    except KeyError:
        try:
            log()
        finally:
            return c
