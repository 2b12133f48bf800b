// Highlighted lines: a text, and runs of a letter and a length in UTF-16 units (`k3t1f5`), as payload.py writes them.

const RUN = /([a-z])(\d+)/g;

/** The pieces of a line, `[letter, text]` each; letter "t" is plain. */
export function piecesOf(text, runs) {
  const pieces = [];
  let start = 0;
  for (const [, letter, length] of (runs || "").matchAll(RUN)) {
    const end = Math.min(start + Number(length), text.length);
    if (end > start) pieces.push([letter, text.slice(start, end)]);
    start = end;
  }
  if (start < text.length) pieces.push(["t", text.slice(start)]);
  return pieces;
}
