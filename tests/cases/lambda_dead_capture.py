# versions: 3.10+
def make(first, second, third):
    return lambda value: first if True or second else value


def nested(first, second, third):
    return lambda value: lambda: value if True or second or third else first
# output
def make(first, second, third):
    return lambda value: first if 1 else second


def nested(first, second, third):
    return lambda value: lambda: value if 1 else first or second or third
