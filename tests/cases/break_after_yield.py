def break_after_yield(items, other):
    for item in items:
        if item:
            yield item
            break
    else:
        yield other
        return
    for item in other:
        yield item


def with_in_finally(a):
    try:
        f()
        with a:
            g()
    finally:
        h()


def walrus_is_no_capture(items):
    for item in items:
        if (a := f(item)) is None or not a.b:
            yield item


def after_break(rows, n):
    for row in rows:
        for i in row:
            if i:
                break
        else:
            continue
        n.append(i)
        if n:
            f()
    return n


def break_before_return(items, known, d):
    if d:
        known[0] = 1
        for item in items:
            if item in known:
                known[1] = item
                break
        return known
    return d
