# versions: 3.10+
match x:
    case {"k": 1, **b}:
        z: int = b
x.m: int = (w := c)
# output: 3.10
if False:
    (_): None
match x:
    case {"k": 1, **b}:
        z: int = b
w = x.m = c
int
# output: 3.11-3.13
match x:
    case {"k": 1, **b}:
        z: int = b
w = x.m = c
int
# output: 3.14+
match x:
    case {"k": 1, **b}:
        z: int = b
w = x.m = c
