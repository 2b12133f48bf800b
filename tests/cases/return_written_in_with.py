def g(c,a):
    with c:
        if a:
            return
        b()
def g2(c,a):
    with c:
        if a:
            d()
        else:
            b()
def g3(c,a):
    with c:
        if a:
            d()
            return
        elif e:
            f()
        b()
def g4(c,a):
    with c:
        for x in a:
            if x:
                return
            d()
def g5(c,a):
    with c:
        if a:
            if b:
                d()
            elif 0 < f < 5:
                c()
        else:
            return
def g6(c,a):
    with c:
        with d:
            if 0 < f < 5:
                c()
def g7(c):
    with c:
        if a:
            return
        with d:
            if b:
                return
            e()
def g8(c):
    with c:
        if a:
            return
    f()
def g9(c):
    while c:
        with c:
            if a:
                return
            if b:
                continue
            f()
def g10(c):
    async_()
    with c:
        try:
            f()
        except E:
            return
        h()
def g11(c):
    with c:
        if a:
            pass
        else:
            b()
def g12(c):
    with c:
        if a:
            b()
        else:
            c()
def t(a):
    try:
        if a:
            return
        b()
    finally:
        c()
def t2(a):
    try:
        if a:
            return
        b()
    except E:
        c()
def t3(a):
    try:
        if a:
            pass
        else:
            b()
    finally:
        c()
def t4(a):
    try:
        b()
    except E:
        return
    finally:
        c()
# output
def g(c, a):
    with c:
        if a:
            return
        b()


def g2(c, a):
    with c:
        if a:
            d()
        else:
            b()


def g3(c, a):
    with c:
        if a:
            d()
            return
        if e:
            f()
        b()


def g4(c, a):
    with c:
        for x in a:
            if x:
                return
            d()


def g5(c, a):
    with c:
        if a:
            if b:
                d()
            elif 0 < f < 5:
                c()
        else:
            return


def g6(c, a):
    with c:
        with d:
            if 0 < f < 5:
                c()


def g7(c):
    with c:
        if a:
            return
        with d:
            if b:
                return
            e()


def g8(c):
    with c:
        if a:
            return
    f()


def g9(c):
    while c:
        with c:
            if a:
                return
            if b:
                continue
            f()


def g10(c):
    async_()
    with c:
        try:
            f()
        except E:
            return
        h()


def g11(c):
    with c:
        if a:
            pass
        else:
            b()


def g12(c):
    with c:
        if a:
            b()
        else:
            c()


def t(a):
    try:
        if a:
            return
        b()
    finally:
        c()


def t2(a):
    try:
        if a:
            return
        b()
    except E:
        c()


def t3(a):
    try:
        if a:
            pass
        else:
            b()
    finally:
        c()


def t4(a):
    try:
        b()
    except E:
        return
    finally:
        c()
