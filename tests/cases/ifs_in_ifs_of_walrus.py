# versions: 3.11+
def truecolor(style, rich):
    changed = False
    if (color := style.color) is not None:
        if color.triplet is None:
            color = rich(color)
            changed = True
    return changed


def animate(self, key):
    if (current := self.get(key)) is not None:
        if (done := current.done) is not None:
            self.call(done)
    self.resume()


def find(items, opening, closing, stack):
    for candidate in items:
        if candidate in opening:
            stack.append(candidate)
        elif candidate in closing:
            if stack and stack[-1] == closing[candidate]:
                stack.pop()
                if not stack:
                    break
    return stack


def joined(self, key):
    if (current := self.get(key)) is not None and (done := current.done) is not None:
        self.call(done)
    if (line := self.read()) and line.end:
        self.call(line)
    elif (other := self.get(key)) is not None:
        if other.done:
            self.call(other)
    if (line := self.read()) > 3 and line.end:
        self.call(line)
