def view(filename, parent):
    try:
        with open(filename) as file:
            contents = file.read()
    except OSError:
        show(title="a")
    except UnicodeDecodeError:
        show(title="b")
    else:
        return view_text(parent, contents)
    return None


def raising(trace):
    try:
        trace.append("a")
        yield 1
    finally:
        trace.append("b")
        raise ValueError("c")


def choose(self, cond):
    fd = self.open()
    try:
        if cond and self.test():
            return lambda x: x
        return self.pager
    finally:
        self.unlink(fd)


def names(self, previous):
    for name in self.names:
        if name[:3] == "do_":
            if name == previous:
                continue
            previous = name
            self.append(name)


def negated(self, frame, arg):
    if not (frame.flags and arg[0] is Stop and arg[2] is None):
        self.user(frame)
