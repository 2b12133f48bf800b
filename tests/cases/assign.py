a = 1
b = c = a
d, e = b, c
(f, g), *h = values
i, j = h
*k, l = h
x.y = a
x[a] = b
x[a:b] = c
x[a, b:c, ::2] = d
a, b = b, a
