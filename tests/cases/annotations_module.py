x: int
y: int = 1
z: "str" = "z"
obj.attr: int = 2
