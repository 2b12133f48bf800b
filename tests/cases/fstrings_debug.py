# known ugly: 3.13+ shown: UNVERIFIED original FORMAT ('', False) and recompiled FORMAT ('', False): lifetimes differ: __temp_1 still holds an object that the original has released -- without idioms a formatted part is kept in a temporary for longer than on the stack
def shown(name, a, b):
    print(f"{name=}")
    print(f"{name = }, {a+b=}, {a  +  b   =   }")
    print(f"at {a.b[0]=}: {name(a, b) =}, {name(a,b)=}, {a['k']=}")
    print(f'{a["k"]=}', f"{a == b=}", f"{(lambda: a)=}", f"{(x := 3)=}")
    print(f"lastname={name!r} a.name={name!r} {name!r} x={name!r}")
    return f"{[i for i in a]=} {name=}"


def spelled(name, a):
    return f"{name=!s} {a=:>5} {name=!r:>3} {{name={name!r}}}", f"{ {1: 2}=}"
# output
def shown(name, a, b):
    print(f"{name=}")
    print(f"{name = }, {a+b=}, {a  +  b   =   }")
    print(f"at {a.b[0]=}: {name(a, b) =}, {name(a,b)=}, {a['k']=}")
    print(f'{a["k"]=}', f"{a == b=}", f"{(lambda: a)=}", f"{(x := 3)=}")
    print(f"lastname={name!r} a.name={name!r} {name!r} x={name!r}")
    return f"{[i for i in a]=} {name=}"


def spelled(name, a):
    return f"name={name!s} a={a:>5} name={name!r:>3} {{name={name!r}}}", f" {{1: 2}}={ {1: 2} !r}"
