"""``continue`` in a ``try`` that its loop begins with: it leaves the ``try``, there is no loop inside."""


def commands(s, p, k, extra):
    while True:
        try:
            if p is not None:
                u = p
            elif s.x() and len(u) == 2:
                f = k[1] if len(u) == 2 else s.join(3)
                k(f)
                continue
            elif s.z():
                if s:
                    k()
                else:
                    p()
            elif u:
                k()
                continue
            else:
                k(u)
            extra()
        except KeyboardInterrupt:
            p()


def loop_in_try(s, k):
    try:
        while True:
            if s():
                k()
                continue
            if k():
                continue
            s(k)
    except KeyboardInterrupt:
        k(s)
