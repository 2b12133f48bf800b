# versions: 3.12+
"""else of a try, elif and several with items, as indentation tells."""
def t_a(p, q):
    with p(1), \
            q.x:
        r()
def t_b(p, q):
    with p(1):
        with q.x:
            r()
def t_d(p, q):
    with p(1) as x, q as (y, z):
        return x
def t_e(p, q):
    with (
        p(1) as x,
        q.x as y,
        z as w,
    ):
        a = x
        b()
async def t_f(p, q):
    async with p(1), \
               q.x:
        await r()
def t_g(p):
    for i in p:
        try:
            a()
        except E as e:
            b()
        else:
            c()
            d()
def t_h(p):
    for i in p:
        try:
            a()
        except E as e:
            b()
            continue
        c()
        d()
def t_i(p):
    try:
        a()
    except E:
        pass
    else:
        x = 1
        b()
def t_j(p):
    try:
        a()
    except E:
        return 2
    except F:
        raise
    else:
        return b
def t_k(p):
    try:
        a()
    except E:
        return 2
    return b
def t_l(p):
    try:
        a()
    except E:
        return 2
    else:
        b = 2
        d()
    return b
def t_m(p):
    for x in p:
        try:
            a()
        except E:
            continue
        else:
            b()
        c()
def u_f(n, d):
    if n == 0:
        return False
    str_n, str_d = str(n), str(d)
    m = 5
    return m
def u_g(c, x):
    if c:
        return x
    if (m := c(x)):
        if m or x:
            return m
    raise V
def u_h(c, x):
    if c is None:
        return x
    elif c:
        if x:
            return 3
        elif c > 3:
            return 4
        else:
            return 6
    else:
        return 5
def u_j(self, typ, value):
    if typ is None:
        try:
            next(self.gen)
        except StopIteration:
            return False
        else:
            try:
                raise R("x")
            finally:
                self.close()
    else:
        if value is None:
            value = typ()
        try:
            self.throw(value)
        except StopIteration as exc:
            return exc is not value
        try:
            raise R("y")
        finally:
            self.close()
def u_l(p):
    for x in p:
        if x:
            try:
                a()
            except E:
                b()
                continue
            else:
                c()
        d()
def v_l(p):
    for x in p:
        if x:
            try:
                a()
            except E:
                b()
                continue
            else:
                c()
        d()
def v_m(p):
    for x in p:
        try:
            a()
        except E:
            b()
            continue
        else:
            c()
        d()
# output
"""else of a try, elif and several with items, as indentation tells."""


def t_a(p, q):
    with p(1), q.x:
        r()


def t_b(p, q):
    with p(1):
        with q.x:
            r()


def t_d(p, q):
    with p(1) as x, q as (y, z):
        return x


def t_e(p, q):
    with p(1) as x, q.x as y, z as w:
        a = x
        b()


async def t_f(p, q):
    async with p(1), q.x:
        await r()


def t_g(p):
    for i in p:
        try:
            a()
        except E as e:
            b()
        else:
            c()
            d()


def t_h(p):
    for i in p:
        try:
            a()
        except E as e:
            b()
            continue
        c()
        d()


def t_i(p):
    try:
        a()
    except E:
        pass
    else:
        x = 1
        b()


def t_j(p):
    try:
        a()
    except E:
        return 2
    except F:
        raise
    else:
        return b


def t_k(p):
    try:
        a()
    except E:
        return 2
    return b


def t_l(p):
    try:
        a()
    except E:
        return 2
    else:
        b = 2
        d()
    return b


def t_m(p):
    for x in p:
        try:
            a()
        except E:
            continue
        else:
            b()
        c()


def u_f(n, d):
    if n == 0:
        return False
    str_n, str_d = str(n), str(d)
    m = 5
    return m


def u_g(c, x):
    if c:
        return x
    if m := c(x):
        if m or x:
            return m
    raise V


def u_h(c, x):
    if c is None:
        return x
    elif c:
        if x:
            return 3
        elif c > 3:
            return 4
        else:
            return 6
    else:
        return 5


def u_j(self, typ, value):
    if typ is None:
        try:
            next(self.gen)
        except StopIteration:
            return False
        else:
            try:
                raise R("x")
            finally:
                self.close()
    else:
        if value is None:
            value = typ()
        try:
            self.throw(value)
        except StopIteration as exc:
            return exc is not value
        try:
            raise R("y")
        finally:
            self.close()


def u_l(p):
    for x in p:
        if x:
            try:
                a()
            except E:
                b()
                continue
            else:
                c()
        d()


def v_l(p):
    for x in p:
        if x:
            try:
                a()
            except E:
                b()
                continue
            else:
                c()
        d()


def v_m(p):
    for x in p:
        try:
            a()
        except E:
            b()
            continue
        else:
            c()
        d()
