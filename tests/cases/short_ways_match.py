# versions: 3.10+
def c_stmt_match_m_0():
    match m:
        case 1:
            a < b < c
        case 2:
            r()
    m()


def ca_if_match_m_0():
    match m:
        case 1:
            if a < b < c and d:
                k()
        case 2:
            r()
    m()
