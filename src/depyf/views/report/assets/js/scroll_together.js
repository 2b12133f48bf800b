// Two texts with lines in common scroll together: what is in the middle of one stands in the middle of the other.

/**
 * Where a position in one text (a line from 0, with its fraction) lies in the other.  `pairs` are the common lines ([line in the first,
 * line in the second], in order), `sizes` the numbers of lines, `side` (0 or 1) the text that `at` is in.
 */
export function counterpart(pairs, sizes, side, at) {
  const other = 1 - side;
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pairs[middle][side] <= at) low = middle + 1;
    else high = middle;
  }
  const before = low > 0 ? pairs[low - 1] : [-1, -1];
  const after = low < pairs.length ? pairs[low] : sizes;
  const share = (at - before[side]) / Math.max(1, after[side] - before[side]);
  return before[other] + share * (after[other] - before[other]);
}

/** Let two code views, in the order of `pairs`, follow each other's scrolling. */
export function scrollTogether(views, pairs) {
  const sizes = views.map((view) => view.count);
  const expected = [null, null];
  views.forEach((view, side) => {
    view.element.addEventListener(
      "scroll",
      () => {
        const { element } = view;
        if (expected[side] !== null && Math.abs(element.scrollTop - expected[side]) < 2) {
          expected[side] = null;
          return;
        }
        const other = views[1 - side];
        other.centre(counterpart(pairs, sizes, side, view.middle()));
        other.element.scrollLeft = element.scrollLeft;
        expected[1 - side] = other.element.scrollTop;
      },
      { passive: true },
    );
  });
}
