def do_ignore(self, arg):
    args = arg.split()
    try:
        count = int(args[1].strip())
    except:
        count = 0
    try:
        bp = self.get_bpbynumber(args[0].strip())
    except IndexError:
        self.error("Breakpoint number expected")
    except ValueError as err:
        self.error(err)
    else:
        bp.ignore = count
