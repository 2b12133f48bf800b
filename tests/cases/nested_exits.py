# known: 3.8-3.13 the text reads differently
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
