# versions: 3.8-3.13
# known: 3.8-3.13 recolorize: leaving both loops and returning are the same instructions at the end of a function; the line of the return is not looked at
def recolorize(self):
    next = "1.0"
    while True:
        item = self.tag("TODO", next)
        if not item:
            break
        ok = False
        while not ok:
            mark = next
            next = self.index(mark)
            line = self.get(mark, next)
            if not line:
                return
            if ok:
                self.add(next)
            self.update()
            if self.stop:
                if DEBUG:
                    print("colorizing stopped")
                return
# output: 3.8-3.9
def recolorize(self):
    next = "1.0"
    while True:
        item = self.tag("TODO", next)
        if not item:
            break
        ok = False
        while not ok:
            mark = next
            next = self.index(mark)
            line = self.get(mark, next)
            if not line:
                return
            if ok:
                self.add(next)
            self.update()
            if self.stop:
                if DEBUG:
                    print("colorizing stopped")
                    return
                return
# written: 3.8-3.9
def recolorize(self):
    next = "1.0"
    while True:
        item = self.tag("TODO", next)
        if not item:
            return
        ok = False
        while not ok:
            mark = next
            next = self.index(mark)
            line = self.get(mark, next)
            if not line:
                return
            if ok:
                self.add(next)
            self.update()
            if self.stop:
                if DEBUG:
                    print("colorizing stopped")
                break
        else:
            continue
        break
# written: 3.10-3.13
def recolorize(self):
    next = "1.0"
    while True:
        item = self.tag("TODO", next)
        if not item:
            return
        ok = False
        while not ok:
            mark = next
            next = self.index(mark)
            line = self.get(mark, next)
            if not line:
                return
            if ok:
                self.add(next)
            self.update()
            if self.stop:
                if DEBUG:
                    print("colorizing stopped")
                break
        else:
            continue
        break
    return
