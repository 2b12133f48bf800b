def endless(a):
    while True:
        for b in a:
            try:
                c()
            except KeyError as d:
                raise
            e()
            raise f


def named(a):
    while True:
        for b in a:
            try:
                del c.d
            except KeyError:
                pass
            raise f
