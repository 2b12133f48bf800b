def after_continue(self):
    while True:
        line = self.readline()
        if not line:
            return None
        if line.startswith("#"):
            continue
        return line


def behind_break(self):
    while True:
        line = self.readline()
        if line.startswith("#"):
            continue
        break
    return line


def in_the_middle(self):
    while True:
        line = self.readline()
        if line:
            break
        self.count += 1
    return line


def either_way(self, key):
    node = self
    while True:
        if key < node.key:
            if node.left is None:
                node.left = Node(key)
                return
            node = node.left
        elif key > node.key:
            if node.right is None:
                node.right = Node(key)
                return
            node = node.right
        else:
            return


def statements(self):
    while True:
        line = self.readline()
        if self.skip(line):
            self.count += 1
            continue
        self.count = 0
        self.log(line)
        raise ValueError(line)


def tested(self):
    while self.more:
        if self.skip():
            continue
        return self.line
    return None


def in_else():
    while True:
        try:
            value = int(input("> "))
        except ValueError:
            print("again")
        else:
            return value
