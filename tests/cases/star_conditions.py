# known ugly: 3.8 calls: FAILED original BUILD_UNPACK ('call_tuple', 2) and recompiled BUILD_UNPACK ('set', 2): they do different things
# known ugly: 3.9-3.10 calls: UNVERIFIED original CALL_EX (1, True) and recompiled CALL_EX (1, True): lifetimes differ: __temp_3 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.11-3.12 calls: UNVERIFIED original CALL_EX (2, True) and recompiled CALL_EX (2, True): lifetimes differ: __temp_4 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.13+ calls: UNVERIFIED original CALL_EX (2, True) and recompiled CALL_EX (2, True): lifetimes differ: __temp_3 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
def calls(f, a, b):
    f(*[] or [2])
    f(*a, *{} and (), **a or b)
    return f(**{"x": 2} or {})
