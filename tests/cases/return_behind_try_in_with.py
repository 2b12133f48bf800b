# versions: 3.12+
"""A constant returned at the end of a ``with`` is not returned in the ``try`` before it: a ``NOP`` has its line."""


def raised(d):
    with T(d) as tmp:
        p = g(tmp)
        try:
            os.link(p)
        except Exception as ex:
            raise L(ex) from ex
        return False


def returned_in_body(d):
    with T(d) as tmp:
        try:
            os.link(p)
            return False
        except Exception as ex:
            raise L(ex) from ex


def returned(d):
    with T(d) as tmp:
        try:
            os.link(p)
        except Exception:
            return True
        return False


def nested(d):
    with T(d) as tmp:
        with U(d):
            try:
                os.link(p)
            except Exception:
                return True
            return False


def handled(d):
    with T(d) as tmp:
        try:
            os.link(p)
        except Exception:
            g()
        return False


def looped(d):
    for x in d:
        with T(d) as tmp:
            try:
                os.link(p)
            except Exception:
                return True
            return False
        k()
