// What two lists of lines have in common, and how compiled code is compared with other compiled code.

import { diffArrays } from "diff";

const MOST_CHANGES = 1500;

/** Pairs [index in one, index in other] of common lines, in order; what is beyond so many changes has none. */
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
  const middle = [one, other].map((lines) => lines.slice(start, lines.length - end));
  let a = start;
  let b = start;
  for (const part of diffArrays(...middle, { maxEditLength: MOST_CHANGES }) ?? []) {
    const common = !part.added && !part.removed;
    if (common) for (let index = 0; index < part.count; index += 1) pairs.push([a + index, b + index]);
    if (!part.added) a += part.count;
    if (!part.removed) b += part.count;
  }
  for (let left = end; left > 0; left -= 1) pairs.push([one.length - left, other.length - left]);
  return pairs;
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
