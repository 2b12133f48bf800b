# versions: 3.12+
# known ugly: 3.14+ <module>: FAILED original SET_ADD 1 and recompiled SET_ADD 1: operand 2 of 2 differs, the constant 0 against the constant 1 -- annotations are numbered in the order of the text, which the plain order of blocks is not
# known unlined: 3.14+ <module>: FAILED original SET_ADD 1 and recompiled SET_ADD 1: operand 2 of 2 differs, the constant 0 against the constant 1 -- annotations are numbered in the order of the text, which the plain order of blocks is not
try:
    a = b
except ValueError:
    c: int = d
    raise e
else:
    c: str = f
