// Panes beside each other, with separators that the mouse and the arrow keys move.  On a narrow page they lie below each other.

import { el, setStyle } from "./dom.js";

/** `panes`: `{title, element, tools}` each, `title` a text or a node; `minimum`: the least width in pixels. */
export function splitPanes(panes, { minimum = 180, label = "Panes" } = {}) {
  const shares = panes.map((pane) => pane.share ?? 1);
  const boxes = panes.map(({ title, element, tools }) =>
    el(
      "section",
      { class: "pane" },
      el(
        "header",
        { class: "pane-head" },
        el("h2", { class: "pane-title" }, title),
        tools && el("div", { class: "pane-tools" }, tools),
      ),
      el("div", { class: "pane-body" }, element),
    ),
  );
  const root = el("div", { class: "split", role: "group", "aria-label": label });
  const bars = boxes.slice(1).map((_, index) => separator(index));
  boxes.forEach((box, index) => root.append(...(index ? [bars[index - 1], box] : [box])));
  apply();

  function apply() {
    boxes.forEach((box, index) => setStyle(box, { "flex-grow": shares[index], "min-width": `${minimum}px` }));
    const whole = shares.reduce((sum, share) => sum + share, 0);
    let before = 0;
    bars.forEach((bar, index) => {
      before += shares[index];
      bar.setAttribute("aria-valuenow", String(Math.round((100 * before) / whole)));
    });
  }

  function moveBy(index, pixels) {
    const widths = boxes.map((box) => box.getBoundingClientRect().width);
    const both = widths[index] + widths[index + 1];
    const left = Math.max(minimum, Math.min(both - minimum, widths[index] + pixels));
    if (both < 2 * minimum) return;
    widths[index] = left;
    widths[index + 1] = both - left;
    const whole = widths.reduce((sum, width) => sum + width, 0);
    widths.forEach((width, at) => (shares[at] = (width / whole) * boxes.length));
    apply();
  }

  function separator(index) {
    const bar = el("div", {
      class: "split-bar",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": "Resize the panes",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
    });
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      moveBy(index, step);
    });
    bar.addEventListener("dblclick", () => {
      shares.fill(1);
      apply();
    });
    bar.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      bar.setPointerCapture(event.pointerId);
      bar.classList.add("moving");
      let last = event.clientX;
      const move = (now) => {
        moveBy(index, now.clientX - last);
        last = now.clientX;
      };
      const end = () => {
        bar.classList.remove("moving");
        bar.removeEventListener("pointermove", move);
      };
      bar.addEventListener("pointermove", move);
      bar.addEventListener("pointerup", end, { once: true });
      bar.addEventListener("pointercancel", end, { once: true });
    });
    return bar;
  }

  return root;
}
