# versions: 3.11+
def ab_ifb_finb_m_1():
    for j in o:
        try:
            if a and b:
                break
        finally:
            r()
        m()


def ab_ifb_excf_m_1():
    for j in o:
        try:
            items()
        except OSError:
            if a and b:
                break
        finally:
            r()
        m()
