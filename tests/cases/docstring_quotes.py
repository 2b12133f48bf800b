'''"""'''


class Three:
    '''x"""'''


class Four:
    '''""""'''


class Backslash:
    '\\"'


def both():
    '''\'\'\'"""\\'''
    return '"""', "'''", 'x"""\n"'


def controls():
    """\x00\r\f
    \u202e'"""
# output
"""""\""""


class Three:
    """x""\""""


class Four:
    """\"\"\"\""""


class Backslash:
    """\\\""""


def both():
    """'''\"\"\"\\"""
    return '"""', "'''", 'x"""\n"'


def controls():
    """\x00\r\x0c
    \u202e'"""
