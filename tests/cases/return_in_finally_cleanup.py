# known ugly: 3.8-3.10 with_in_finally: FAILED a with_start slot is left in an expression
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
