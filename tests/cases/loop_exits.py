def forever(self):
    while True:
        self.add()
        item, broken = self.wait()
        if broken:
            self.terminate(broken)
            return
        if item is not None:
            self.process(item)
        if self.shutting_down():
            self.flag()
            self.join()


def until_full(self):
    while True:
        if self.queue.full():
            return
        try:
            work = self.ids.get(block=False)
        except Empty:
            return
        if work.running():
            self.queue.put(work)


def sentinels(self):
    sent = 0
    while (
        sent < self.number_of_children_that_are_to_be_stopped_at_the_end
        and self.get_number_of_children_that_are_still_alive() > 0
    ):
        for i in range(10):
            sent += self.put(i)


def test_inside(self):
    while self.running:
        if not self.step():
            break
        self.log()
    self.close()


def break_first(self):
    while True:
        if self.done():
            break
        self.step()
    self.close()


def implicit(self, node):
    if node.skip:
        return None
    imp = node.imp
    if node.type == self.type:
        if self.local(imp):
            imp.value += "."
            imp.changed()
    else:
        have = False
        for name in imp:
            have = True
        if have:
            return None
        new = make(imp)
        return new
