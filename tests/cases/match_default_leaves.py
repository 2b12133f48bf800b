# versions: 3.10+
def run(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1) if self.x:
                a()
            case ast.ImportFrom(level=0):
                pass
            case _:
                break
        pos += 1
    return pos
def run2(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1):
                if self.disabled(doc):
                    return None
                a()
            case ast.ImportFrom(level=0):
                pass
            case _:
                break
        pos += 1
    return pos
def run3(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1):
                a()
            case ast.ImportFrom(level=0):
                b()
            case _:
                break
        pos += 1
    return pos
def run4(self, mod):
    for item in mod.body:
        if item == 1:
            if self.disabled(doc):
                return None
            a()
        elif item == 2:
            pass
        else:
            break
        pos += 1
    return pos
# output
def run(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1) if self.x:
                a()
            case ast.ImportFrom(level=0):
                pass
            case _:
                break
        pos += 1
    return pos


def run2(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1):
                if self.disabled(doc):
                    return None
                a()
            case ast.ImportFrom(level=0):
                pass
            case _:
                break
        pos += 1
    return pos


def run3(self, mod):
    for item in mod.body:
        match item:
            case ast.Expr(value=1):
                a()
            case ast.ImportFrom(level=0):
                b()
            case _:
                break
        pos += 1
    return pos


def run4(self, mod):
    for item in mod.body:
        if item == 1:
            if self.disabled(doc):
                return None
            a()
        elif item == 2:
            pass
        else:
            break
        pos += 1
    return pos
