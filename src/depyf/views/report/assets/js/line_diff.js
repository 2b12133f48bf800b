// What two lists of lines have in common: Myers' O(ND) algorithm, with an end to its patience.

const MOST_STEPS = 1500;

/** Pairs [index in one, index in other] of common lines, in order. */
export function commonLines(one, other) {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (
    end < one.length - start &&
    end < other.length - start &&
    one[one.length - 1 - end] === other[other.length - 1 - end]
  )
    end += 1;
  const pairs = Array.from({ length: start }, (_, index) => [index, index]);
  const middle = shortest(one.slice(start, one.length - end), other.slice(start, other.length - end));
  pairs.push(...middle.map(([a, b]) => [a + start, b + start]));
  for (let left = end; left > 0; left -= 1) pairs.push([one.length - left, other.length - left]);
  return pairs;
}

function shortest(one, other) {
  if (one.length === 0 || other.length === 0) return [];
  const most = Math.min(one.length + other.length, MOST_STEPS);
  const furthest = new Map([[1, 0]]);
  const history = [];
  for (let steps = 0; steps <= most; steps += 1) {
    history.push(new Map(furthest));
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      const down =
        diagonal === -steps || (diagonal !== steps && furthest.get(diagonal - 1) < furthest.get(diagonal + 1));
      let x = down ? furthest.get(diagonal + 1) : furthest.get(diagonal - 1) + 1;
      let y = x - diagonal;
      while (x < one.length && y < other.length && one[x] === other[y]) {
        x += 1;
        y += 1;
      }
      furthest.set(diagonal, x);
      if (x >= one.length && y >= other.length) return pathOf(history, one.length, other.length);
    }
  }
  return [];
}

function pathOf(history, x, y) {
  const pairs = [];
  for (let steps = history.length - 1; steps >= 0; steps -= 1) {
    const furthest = history[steps];
    const diagonal = x - y;
    const down = diagonal === -steps || (diagonal !== steps && furthest.get(diagonal - 1) < furthest.get(diagonal + 1));
    const before = down ? diagonal + 1 : diagonal - 1;
    const fromX = furthest.get(before) ?? 0;
    const fromY = fromX - before;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x -= 1;
      y -= 1;
      pairs.push([x, y]);
    }
    x = fromX;
    y = fromY;
  }
  return pairs.reverse();
}

/** The changed stretches: `{one: [first, end], other: [first, end]}` with ends excluded. */
export function changedStretches(pairs, sizes) {
  const found = [];
  let a = 0;
  let b = 0;
  for (const [x, y] of [...pairs, sizes]) {
    if (x > a || y > b) found.push({ one: [a, x], other: [b, y] });
    a = x + 1;
    b = y + 1;
  }
  return found;
}

/** A line without what differs between two compilations by nature: ids in names, and the comment that begins a page. */
export function comparedText(text) {
  if (/^# (?:Compile id |Taken from a compile cache)/.test(text)) return "#";
  return text.replaceAll(/__(compiled_fn|transformed_code|resume_at)_\w*?\d+(?:_\d+)*/g, "__$1");
}
