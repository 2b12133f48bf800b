# versions: 3.12+
# known ugly: 3.13+ f: UNVERIFIED original FORMAT ('', False) and recompiled FORMAT ('', False): lifetimes differ: __temp_1 still holds an object that the original has released -- without idioms a formatted part is kept in a temporary for longer than on the stack
"""% or an f-string: the place of a field tells."""


def f(v, w):
    a = "%r" % (v,)
    b = f"{v!r}"
    c = "a%s" % (v(1),)
    d = f"a{v(1)!s}"
    e = "a %s %r" % (v.x, w)
    g = f"a{v.x!s} {w!r}"
    h = "100%% %s" % (v if w else 2,)
    i = ("%s" % (v,)).strip(), "%r" % (v,) + "x", "x" + "%s" % (v,)
    j = f"{v!s}"
    k = f"{'%r' % (v,)} and {'%s%s' % (v, w)!r:>{'%s' % (w,)}}"
    l = f"{'%r' % (v,)!r}"
    m = "%r" % (v,) % (1,)
    n = "%s %s" % (v or w, (yield))
    return f"{a}%s" % (b,)
