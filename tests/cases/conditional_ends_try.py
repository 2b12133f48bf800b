def grep_it(self, prog, path):
    try:
        a()
        print(f"Hits found: {hits}\n(Hint: right-click to open locations.)"
              if hits else "No hits.")
    except AttributeError:
        log()


def stored(self, prog, path):
    try:
        a()
        self.x = f(1, hits
              if b else "No hits.")
    except AttributeError:
        log()


def with_(self, prog, path):
    with a:
        self.x = f(1, hits
              if b else "No hits.")


def branches(self):
    try:
        if a:
            b()
        else:
            c()
        d()
    except AttributeError:
        log()


def both(self):
    try:
        if a:
            b()
            d()
        else:
            c()
            d()
    except AttributeError:
        log()
# output
def grep_it(self, prog, path):
    try:
        a()
        print(f"Hits found: {hits}\n(Hint: right-click to open locations.)" if hits else "No hits.")
    except AttributeError:
        log()


def stored(self, prog, path):
    try:
        a()
        self.x = f(1, hits if b else "No hits.")
    except AttributeError:
        log()


def with_(self, prog, path):
    with a:
        self.x = f(1, hits if b else "No hits.")


def branches(self):
    try:
        if a:
            b()
        else:
            c()
        d()
    except AttributeError:
        log()


def both(self):
    try:
        if a:
            b()
            d()
        else:
            c()
            d()
    except AttributeError:
        log()
