# versions: 3.10+
"""``continue`` behind other blocks, with code behind its ``if``."""


def behind_a(xs):
    for u in xs:
        if u:
            for n in u:
                k(n)
            continue
        j(u)
        l(u)


def behind_b(xs):
    for u in xs:
        if u:
            while n:
                k(n)
            continue
        j(u)
        l(u)


def behind_c(xs):
    for u in xs:
        if u:
            with n:
                k(n)
            continue
        j(u)
        l(u)


def behind_d(xs):
    for u in xs:
        if u:
            for n in u:
                if n:
                    k(n)
            continue
        j(u)
        l(u)


def behind_e(xs):
    for u in xs:
        if u:
            for n in u:
                if n:
                    break
            continue
        j(u)
        l(u)


def behind_f(xs):
    for u in xs:
        if u:
            try:
                k()
            except E:
                l()
            continue
        j(u)
        l(u)


def behind_g(xs):
    for u in xs:
        if u:
            if k:
                k()
            continue
        j(u)
        l(u)
