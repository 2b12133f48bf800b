# versions: 3.11+
def returns():
    try:
        for a.b in c:
            pass
        return
    except* d:
        while True:
            pass
    return a


def in_loop():
    for a in b:
        try:
            c()
        except* ValueError:
            while True:
                d()
        except* e:
            raise f
    g()
