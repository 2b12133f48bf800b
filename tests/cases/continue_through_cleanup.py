"""``continue`` out of a ``with`` or a ``try`` with ``finally``: one copy of the clean-up is the end of the body, the others continue."""


def out_f(y, p):
    for x in y:
        try:
            if p:
                b()
                continue
            a()
            d()
        except E:
            b()
        finally:
            c()


def out_g(y, p):
    for x in y:
        try:
            if p:
                b()
                continue
            a()
            d()
        finally:
            c()


def out_h(y, p):
    for x in y:
        with z:
            if p:
                b()
                continue
            a()
            d()


def out_i(y, p):
    for x in y:
        try:
            with z:
                if p:
                    b()
                    continue
                a()
                d()
        except E:
            b()


def out_j(y, p):
    for x in y:
        try:
            if p:
                b()
                continue
            a()
            d()
        except E:
            b()


def more_1(y, p):
    for x in y:
        try:
            if p:
                b()
                continue
            a()
            d()
        except E:
            b()
            return 1
        finally:
            c()


def more_2(y, p):
    while y:
        with m() as z:
            try:
                if p:
                    continue
                a()
            except E:
                b()


def more_3(y, p):
    while q():
        with m():
            try:
                if p:
                    b()
                    continue
                a()
                d()
            except E:
                b()
                continue
        t()


def more_4(y, p):
    while q():
        with m():
            try:
                a()
                d()
            except E:
                b()
                continue
            k()
        t()


def loop_is_try(y, p, q):
    while True:
        try:
            if p:
                b()
                continue
            a()
            d()
        finally:
            c()
