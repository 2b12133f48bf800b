# known ugly: 3.14+ <module>: UNVERIFIED the text is not complete: no literal gives __const_slice -- a constant slice in a tuple has no literal outside of a subscript
def augment(a, b, obj, seq):
    a += b
    a -= 1
    a *= b
    a /= b
    a //= b
    a %= b
    a **= b
    a @= b
    a &= b
    a |= b
    a ^= b
    a <<= b
    a >>= b
    obj.field += a
    seq[a] -= b
    seq[a:b] += seq
    obj.field[b].other |= a
    return a


def augment_slices(a, b, f):
    a[1:2] += b
    a[::2, ::-2] += b
    f()[f(1):f(2)] += a
    f()[a.x:a.y, 1] += b
    a[:b[1]] -= 1
