"""Chained comparisons and short circuits where the compiler copies what follows for their early ends."""


def c_if_exc_m_0():
    try:
        items()
    except OSError:
        if a < b < c:
            k()
    m()


def c_if_els_m_0():
    try:
        items()
    except OSError:
        r()
    else:
        if a < b < c:
            k()
    m()


def c_while_exc_m_0():
    try:
        items()
    except OSError:
        while a < b < c:
            k()
    m()


def c_stmt_exc_m_0():
    try:
        items()
    except OSError:
        a < b < c
    m()


def c_stmt_for_m_0():
    for i in n:
        a < b < c
    m()


def c_ret_tryb_m_0():
    try:
        return a < b < c
    except OSError:
        r()
    m()


def c_ret_for_m_0():
    for i in n:
        return a < b < c
    m()


def c_ret_for_r_1():
    for j in o:
        for i in n:
            return a < b < c
        return z


def c_asg_exc_m_0():
    try:
        items()
    except OSError:
        x = a < b < c
    m()


def ca_if_exca_m_1():
    for j in o:
        try:
            items()
        except OSError as e:
            if a < b < c and d:
                k()
        m()


def ca_asg_for_m_0():
    for i in n:
        x = a < b < c and d
    m()


def oc_ife_exc2_m_0():
    try:
        items()
    except OSError:
        if d or a < b < c:
            k()
        else:
            l()
    except KeyError:
        r()
    m()


def nc_if_exc_r_0():
    try:
        items()
    except OSError:
        if not a < b < c:
            k()
    return z


def c3_if_excf_e_1():
    for j in o:
        try:
            items()
        except OSError:
            if a < b < c < d:
                k()
        finally:
            r()


def ab_stmt_exc_e_1():
    for j in o:
        try:
            items()
        except OSError:
            a and b


def aobc_stmt_exca_e_1():
    for j in o:
        try:
            items()
        except OSError as e:
            (a or b) and c


def lc_while_exc_m_0():
    try:
        items()
    except OSError:
        while [q for q in a]:
            k()
    m()


def lc_while_exca_e_1():
    for j in o:
        try:
            items()
        except OSError as e:
            while [q for q in a]:
                k()


def cond_while_exc_m_0():
    try:
        items()
    except OSError:
        while b if a else c:
            k()
    m()


def cond_while_excf_e_1():
    for j in o:
        try:
            items()
        except OSError:
            while b if a else c:
                k()
        finally:
            r()


def lcif_while_fin_m_0():
    try:
        items()
    finally:
        while [q for q in a if q] or b:
            k()
    m()


def lcif_stmt_exc_e_1():
    for j in o:
        try:
            items()
        except OSError:
            [q for q in a if q] or b


def empty_comprehension(c):
    while [1 for i in c]:
        pass


def comprehension(c):
    while [g(i) for i in c]:
        w()
    z()
