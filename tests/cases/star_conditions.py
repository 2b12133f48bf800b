# known ugly: 3.8 calls: FAILED original BUILD_UNPACK ('call_tuple', 2) and recompiled BUILD_UNPACK ('set', 2): they do different things
# known ugly: 3.9+ calls: FAILED dict updated on the stack
def calls(f, a, b):
    f(*[] or [2])
    f(*a, *{} and (), **a or b)
    return f(**{"x": 2} or {})
