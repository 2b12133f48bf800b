# known ugly: 3.9 keywords: UNVERIFIED original CALL_EX (1, True) and recompiled CALL_EX (1, True): lifetimes differ: __temp_3 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.11 keywords: UNVERIFIED original CALL_EX (2, True) and recompiled CALL_EX (2, True): lifetimes differ: __temp_4 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
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
