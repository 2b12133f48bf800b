class H:
    def recall(self, arg):
        try:
            cmd = str(self.find(arg))
        except Exception:
            histlines = self.search("*" + arg + "*")
            for h in reversed([x[2] for x in histlines]):
                if "recall" in h or "rep" in h:
                    continue
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
