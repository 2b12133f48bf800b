class H:
    def recall(self, arg):
        try:
            cmd = str(self.find(arg))
        except Exception:
            histlines = self.search("*" + arg + "*")
            for h in reversed(histlines):
                if "recall" not in h:
                    self.shell.set_next_input(h.rstrip())
                    return
        else:
            self.shell.set_next_input(cmd.rstrip())
            return
        print("Couldn't evaluate or find in history:", arg)


def simple(arg):
    try:
        c = f()
    except E:
        for h in g():
            if t(h):
                return
    else:
        k()
        return
    p()
