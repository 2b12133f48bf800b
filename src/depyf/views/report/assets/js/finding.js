// What a search finds in the data of a page.  Nothing here knows of the screen.

/** Numbers of the lines ([text, runs]) that have `needle` in lower case. */
export function linesWith(lines, needle) {
  const found = new Set();
  lines.forEach(([text], index) => {
    if (text.toLowerCase().includes(needle)) found.add(index);
  });
  return found;
}

/** Places of found lines in the files of a chunk of texts: `{file, line, text}`, at most `limit`, and how many more there are. */
export function placesOf(texts, needle, limit) {
  const found = linesWith(texts.lines, needle);
  const places = [];
  let more = 0;
  if (found.size === 0) return { places, more };
  for (const [file, numbers] of Object.entries(texts.files)) {
    numbers.forEach((number, index) => {
      if (!found.has(number)) return;
      if (places.length < limit) places.push({ file, line: index + 1, text: texts.lines[number][0] });
      else more += 1;
    });
  }
  return { places, more };
}

/** Texts in the data of a panel that have `needle`, each once, at most `limit`. */
export function textsWith(data, needle, limit) {
  const found = new Set();
  const visit = (value) => {
    if (found.size >= limit) return;
    if (typeof value === "string") {
      if (value.toLowerCase().includes(needle)) found.add(value);
    } else if (Array.isArray(value)) value.forEach(visit);
    else if (value !== null && typeof value === "object") Object.values(value).forEach(visit);
  };
  visit(data);
  return [...found];
}

/** A text cut in pieces, `[piece, isFound]`, shortened before the first place found. */
export function highlighted(text, needle, before = 40) {
  const line = text.trim();
  const lower = line.toLowerCase();
  const first = lower.length === line.length ? lower.indexOf(needle) : -1;
  if (first < 0 || !needle) return [[line.slice(0, 240), false]];
  const start = first > before ? first - before : 0;
  const pieces = [[(start ? "…" : "") + line.slice(start, first), false]];
  pieces.push(
    [line.slice(first, first + needle.length), true],
    [line.slice(first + needle.length, first + 240), false],
  );
  return pieces.filter(([piece]) => piece);
}
