def retry(a, n):
    for i in range(n):
        try:
            return a(i)
        except ValueError as error:
            if i == n - 1:
                raise
            log(error)


def until(a):
    while True:
        try:
            x = a()
        except KeyError:
            continue
        if x:
            return x


def collect(items):
    out = []
    for item in items:
        try:
            out.append(item())
        except (ValueError, TypeError):
            pass
    return out
