a = "plain"
b = "it's"
c = 'say "hi"'
d = 'both \' and "'
e = "line\nline\ttab\\"
f = "\x00\x7f\xa0\u2028😀"
g = b"bytes\x00\xff'"
h = "ab"
