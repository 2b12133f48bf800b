def azcli(*args):
    return check_output(
        ["az", *args] if sys.platform != "win32" else ["cmd", "/C", "az", *args]
    )


def keywords(a, kwargs):
    return call(**({"x": 1, **kwargs} if a else {"y": 2, **kwargs}))


def sets(a, args):
    x = call({1, *args} if a else {2, *args}, 3)
    return x
# output
def azcli(*args):
    return check_output(["az", *args] if sys.platform != "win32" else ["cmd", "/C", "az", *args])


def keywords(a, kwargs):
    return call(**{"x": 1, **kwargs} if a else {"y": 2, **kwargs})


def sets(a, args):
    x = call({1, *args} if a else {2, *args}, 3)
    return x
