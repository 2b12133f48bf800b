x: int
y: int = 1
z: "str" = "z"
obj.attr = 2
int
