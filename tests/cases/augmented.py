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
