# known: 3.12+ the text reads differently
# known ugly: 3.8-3.11 original SUBSCR and recompiled LOAD_GLOBAL slice: they do different things
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
