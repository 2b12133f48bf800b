# known: 3.14+ the text is not complete: no literal gives __const_slice
# known ugly: 3.14+ the text is not complete: no literal gives __const_slice
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
