# versions: 3.11+
async def while_that_never_begins(log, a):
    try:
        if a:
            log()
    except KeyError:
        while a and None:
            yield a
# output
async def while_that_never_begins(log, a):
    if 0: yield
    try:
        if a:
            log()
    except KeyError:
        if a:
            return
