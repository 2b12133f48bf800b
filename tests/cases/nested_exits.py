# known: 3.8-3.13 iterate: two breaks out of a handler end with equal clean-ups, which are shown as one
def iterate(g):
    res = []
    while True:
        an = g.__anext__()
        try:
            while True:
                try:
                    an.__next__()
                except StopIteration as ex:
                    if ex.args:
                        res.append(ex.args[0])
                        break
                    res.append("EMPTY StopIteration")
                    break
                except StopAsyncIteration:
                    raise
                except Exception as ex:
                    res.append(str(type(ex)))
                    break
        except StopAsyncIteration:
            res.append("STOP")
            break
    return res
# written: 3.8-3.13
def iterate(g):
    res = []
    while True:
        an = g.__anext__()
        try:
            while True:
                try:
                    an.__next__()
                except StopIteration as ex:
                    if ex.args:
                        res.append(ex.args[0])
                    else:
                        res.append("EMPTY StopIteration")
                    break
                except StopAsyncIteration:
                    raise
                except Exception as ex:
                    res.append(str(type(ex)))
                    break
        except StopAsyncIteration:
            res.append("STOP")
            break
    return res
