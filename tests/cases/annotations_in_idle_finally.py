# versions: 3.14+
try:
    pass
finally:
    a: int = b
# output
a: int = b
if False:
    a: int
