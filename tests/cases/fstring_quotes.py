def adjacent(x):
    one = f'{x["a"]}' f"{x['b']}" f'''{x["c'"]}''' f"""{x['d"']}"""
    two = f'''{x["'" '"']}'''
    three = f"""{x['''
''']}\\ {x}"""
    four = f'''{f"it's {x}" "'"}'''
    return one, two, three, four


def sets(x):
    return f'''{x in {"a'", 'b"'}} {[y for y in x if y != b"c'"]} "\\''' f"{x['a']:{x}}"
# output: 3.8-3.11
def adjacent(x):
    one = f"""{x["a"]}{x["b"]}{x["c'"]}{x['d"']}"""
    two = f"""{x[''''"''']}"""
    three = f"""{x['''
''']}\\ {x}"""
    four = f"""{f"it's {x}'"}"""
    return one, two, three, four


def sets(x):
    return f'''{x in {"a'", 'b"'} } {[y for y in x if y != b"c'"]} "\\{x['a']:{x}}'''
# output: 3.12+
def adjacent(x):
    one = f"{x['a']}{x['b']}{x["c'"]}{x['d"']}"
    two = f"{x['\'"']}"
    three = f"{x['\n']}\\ {x}"
    four = f"{f'it\'s {x}\''}"
    return one, two, three, four


def sets(x):
    return f'{x in {"a'", 'b"'} } {[y for y in x if y != b"c'"]} "\\{x["a"]:{x}}'
