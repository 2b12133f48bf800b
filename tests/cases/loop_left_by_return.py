# versions: 3.8-3.13
# known: 3.8-3.13 the text reads differently
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
