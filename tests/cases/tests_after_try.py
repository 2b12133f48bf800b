try:
    import module
except ImportError:
    module = None
value = function(a.b or a.c, module)
if p or q or r:
    raise ValueError("not here")


def last():
    pass


if __name__ == "__main__":
    last()
