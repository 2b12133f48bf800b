// How numbers and ids are written, the same in every panel.

/** `12.3 s`, `840 ms`, `0.4 ms`; "" for what is no number. */
export function seconds(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  if (value >= 100) return `${Math.round(value)} s`;
  if (value >= 1) return `${value.toFixed(value >= 10 ? 1 : 2)} s`;
  const milliseconds = value * 1000;
  return `${milliseconds >= 10 ? Math.round(milliseconds) : milliseconds.toFixed(1)} ms`;
}

/** `1.5 MiB`; "" for what is no number. */
export function bytes(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[index]}`;
}

/** `1 kernel`, `3 kernels`, `2 entries` where the plural is given. */
export function count(number, noun, plural = `${noun}s`) {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** A compile id with the generation of torch's caches, where that is not the first: `0/1`, `0/1 (generation 2)`. */
export function compileId(text, generation = 0) {
  return generation ? `${text} (generation ${generation})` : text;
}
