def slice_keys(m, a):
    x = m[1:2], m[::2, ::-2]
    m[1:2], m[2:3, 4] = m[::2, a], m[:, :]
    del m[1:2,]
    return x, m[0:1,], m[::2, 3, ...], m["a":], m[1,]
# output
def slice_keys(m, a):
    x = m[1:2], m[::2, ::-2]
    m[1:2], m[2:3, 4] = m[::2, a], m[:, :]
    del m[1:2,]
    return x, m[0:1,], m[::2, 3, ...], m["a":], m[(1,)]
