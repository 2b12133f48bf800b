# versions: 3.10+
def classes(a):
    match a:
        case int():
            return "int"
        case str(s):
            return s
        case Point(x=0, y=y):
            return y
        case Line(Point(x, _), end=Point(x=1)):
            return x
        case module.Shape([first, *_]) | Other(first):
            return first
        case [Point(), Point() as p]:
            return p
