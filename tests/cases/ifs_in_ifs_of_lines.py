# versions: 3.11+
def idle(self, event, others):
    if not self.batch and self.current:
        if (
            self.layout_required
            or self.scroll_required_by_others
            or self.repaint_required_by_others
            or self.dirty_widgets_of_others
        ):
            self.resume()
            return
    if (
        self.current
        and event.done
        and (
            self.layout_required_by_others_or_by_itself
            or self.scroll_required_by_others_or_by_itself
        )
    ):
        self.call()
    for other in others:
        if other.layout_required_by_others_or_by_itself and self.batch:
            if (
                self.layout_required_by_others_or_by_itself
                or self.scroll_required_by_others_or_by_itself
            ):
                self.call(other)
    self.close()
