def cleanup(tb, exclude):
    while tb:
        for rpcfile in exclude:
            if tb[0][0].count(rpcfile):
                break
        else:
            break
        del tb[0]
    done()


def nested(x, y):
    for a in x:
        for b in y:
            if c:
                break
        else:
            continue
        return foo(b)


def nested2(x, y):
    for a in x:
        for b in y:
            if c:
                break
        else:
            continue
        bar()
        break
    else:
        baz()
    done()
