def walked(self):
    try:
        outer()
    except ZeroDivisionError as e:
        tb = e.__traceback__
        while tb:
            frames.append(tb.tb_frame)
            tb = tb.tb_next
    else:
        self.fail("should have raised")
    f_this, f_outer, f_inner = frames
