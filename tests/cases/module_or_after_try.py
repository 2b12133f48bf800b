# known ugly: 3.8+ original RETURN and recompiled RETURN: the temporary __temp_4 is left in the namespace
try:
    import ctypes
except ImportError:
    ctypes = None
required = skip_unless(a == b or c != d, "x")
if a or b or c:
    raise X("venv")


def f():
    pass


if __name__ == "__main__":
    main()
