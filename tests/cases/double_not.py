def double_not(a, b):
    x = not not a
    y = not not not b
    if not not a:
        print(not not (a < b))
    return [x, not not a, not not not not y, not (a < b)], not not (a and b)
# output
def double_not(a, b):
    x = not not a
    y = not not not b
    if a:
        print(not not a < b)
    return [x, not not a, not not not not y, not a < b], not not (a and b)
