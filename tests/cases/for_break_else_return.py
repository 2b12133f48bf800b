def for_break_else_return(self, current):
    new = None
    for theme in self.names():
        if theme != current:
            new = theme
            self.use(theme)
            break
    else:
        return
    self.check(current == new)
