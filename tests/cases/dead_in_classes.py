def outer(taken, self):
    class Looked:
        if 0:
            taken = 1
        taken

    class Shares:
        while 0:
            [taken for x in taken]
        taken = self

    class Imports:
        nonlocal self
        from this import s as self

    class Unread:
        if 0:
            self.attribute
        [self for x in taken if 0 and self]
        [1 if self else taken.get(lambda: self) for x in taken]

    return Looked, Shares, Imports, Unread


class Outer:
    class Inner:
        if 0:
            __class__

    global shown
    import this as shown


global seen
import that as seen
[seen for _ in seen]
# output: 3.8-3.9
global seen
def outer(taken, self):
    class Looked:
        if 0: taken = None
        taken

    class Shares:
        if 0: lambda: taken
        taken = self

    class Imports:
        nonlocal self
        from this import s as self

    class Unread:
        [self for x in taken if 0 and self]
        [1 if self else taken.get(lambda: self) for x in taken]

    return Looked, Shares, Imports, Unread


class Outer:
    global shown
    class Inner:
        if 0: __class__
        pass

    import this as shown


import that as seen

[seen for _ in seen]
# output: 3.10-3.11
global seen
def outer(taken, self):
    class Looked:
        if 0: taken = None
        taken

    class Shares:
        if 0: lambda: taken
        taken = self

    class Imports:
        nonlocal self
        from this import s as self

    class Unread:
        [self for x in taken if False]
        [1 if self else taken.get(lambda: self) for x in taken]

    return Looked, Shares, Imports, Unread


class Outer:
    global shown
    class Inner:
        if 0: __class__
        pass

    import this as shown


import that as seen

[seen for _ in seen]
# output: 3.12-3.13
global seen
def outer(taken, self):
    class Looked:
        if 0: taken = None
        taken

    class Shares:
        if 0: lambda: taken
        taken = self

    class Imports:
        nonlocal self
        from this import s as self

    class Unread:
        [[0 for self in ()] for x in taken if False]
        [1 if self else taken.get(lambda: self) for x in taken]

    return Looked, Shares, Imports, Unread


class Outer:
    global shown
    class Inner:
        if 0: __class__
        pass

    import this as shown


import that as seen

[seen for _ in seen]
# output: 3.14+
global seen
def outer(taken, self):
    class Looked:
        if 0: taken = None
        taken

    class Shares:
        if 0: lambda: taken
        taken = self

    class Imports:
        nonlocal self
        from this import s as self

    class Unread:
        [None for x in taken if False]
        [1 if self else taken.get(lambda: self) for x in taken]

    return Looked, Shares, Imports, Unread


class Outer:
    global shown
    class Inner:
        if 0: __class__
        pass

    import this as shown


import that as seen

[seen for _ in seen]
