# versions: 3.12+
def nested(a, b):
    one = f"{f'{a}'}"
    two = f"{a['key']} {'\n'.join(b)}"
    return f"{a:{b:{a}}}"
