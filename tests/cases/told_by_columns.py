# versions: 3.11+
"""What only the columns of the location table tell: pass or return, an if in an if, a list of deletions."""
class C:
    def a(self):
        return None
    def b(self):
        return
    def c(self):
        pass
    def d(self):
        'doc'
        return None
def e(p):
    for i in p:
        pass
def f(p):
    for i in p:
        continue
    while p():
        pass
    while p():
        continue
def g(p):
    try:
        return p()
    except E:
        pass
def h(p):
    try:
        return p()
    except E:
        return None
def i(p):
    try:
        p()
    except E:
        pass
    else:
        p(2)
def j(p):
    try:
        p()
    except E:
        return
    except F:
        pass
def k(p):
    if p:
        try:
            p()
        except E:
            pass
    else:
        del p, a.b, c[1]
        import x, y.z
        import q
        del t
        del u
def l(p):
    if p:
        return 1
    elif q:
        pass
    elif r:
        return None
    else:
        return
def m(p):
    with p:
        return
def n(p):
    with p:
        pass
def p(p):
    try:
        p()
    except E:
        pass
    finally:
        p.x()
def q(p):
    if p:
        if q:
            return r
    if a:
        if b:
            c
    if a and \
            b:
        c
    if a:
        if b or c:
            if d:
                return e
    for x in y:
        if x:
            if y:
                z()
# output
"""What only the columns of the location table tell: pass or return, an if in an if, a list of deletions."""


class C:
    def a(self):
        return None

    def b(self):
        return

    def c(self):
        pass

    def d(self):
        """doc"""
        return None


def e(p):
    for i in p:
        pass


def f(p):
    for i in p:
        continue
    while p():
        pass
    while p():
        continue


def g(p):
    try:
        return p()
    except E:
        pass


def h(p):
    try:
        return p()
    except E:
        return None


def i(p):
    try:
        p()
    except E:
        pass
    else:
        p(2)


def j(p):
    try:
        p()
    except E:
        return
    except F:
        pass


def k(p):
    if p:
        try:
            p()
        except E:
            pass
    else:
        del p, a.b, c[1]
        import x, y.z
        import q
        del t
        del u


def l(p):
    if p:
        return 1
    elif q:
        pass
    elif r:
        return None
    else:
        return


def m(p):
    with p:
        pass


def n(p):
    with p:
        pass


def p(p):
    try:
        p()
    except E:
        pass
    finally:
        p.x()


def q(p):
    if p:
        if q:
            return r
    if a:
        if b:
            c
    if a and b:
        c
    if a:
        if b or c:
            if d:
                return e
    for x in y:
        if x:
            if y:
                z()
