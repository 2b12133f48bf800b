# known ugly: 3.14+ the text is not complete: no literal gives __const_NotImplementedError
x: int
y: int = 1
z: "str" = "z"
obj.attr = 2
int
