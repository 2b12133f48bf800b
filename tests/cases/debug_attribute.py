def debug(a):
    return a.__debug__
