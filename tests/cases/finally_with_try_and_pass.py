def returns():
    try:
        return a
    finally:
        try:
            try:
                b
            finally:
                pass
        except KeyError:
            pass


def clauses():
    try:
        return a
    except ValueError:
        pass
    finally:
        try:
            try:
                b[c] = 1
            except OSError:
                pass
        except:
            pass
