try:
    import fast
except ImportError:
    fast = None
if flag:
    from a import b
else:
    from c import b


def lazy():
    import os.path
    from os import sep
    return os, sep
