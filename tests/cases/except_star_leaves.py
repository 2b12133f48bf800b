# versions: 3.11+
def raises_behind_with(log, h, f):
    try:
        log()
    except* h:
        with f:
            pass
        raise


def returns_behind(x, f):
    with x:
        try:
            f()
        except* KeyError:
            pass
        return
    f()


def breaks_behind(c, y, a):
    for x in c:
        try:
            return y()
        except* a:
            pass
        break


def named(g, h, f):
    try:
        g()
    except* h as e:
        with f:
            g()


def raises_behind_try(g, h, f, a):
    try:
        g()
    except* h as e:
        try:
            f()
        except a:
            g()
        raise


class Ends:
    def m(self):
        self.x = 1

    try:
        log
    except* KeyError:
        y = 1
