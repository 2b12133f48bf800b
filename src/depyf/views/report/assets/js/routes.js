// Addresses inside the page: `#PANEL/part/part`; what begins with a compile id (`#0/1/Forward_graph/12`) is in the chain.

/** A half of a surrogate pair without the other, which no address can hold. */
const ALONE = /\p{Surrogate}/gu;
const COMPILE_ID = /^!?\d+$/;

/** The address of parts: `#files/a%20b.py/12`. */
export function addressOf(...parts) {
  const written = parts.filter((part) => part !== null && part !== undefined).map((part) => encodePart(String(part)));
  return `#${written.join("/")}`;
}

function encodePart(part) {
  return encodeURIComponent(part.replace(ALONE, "\ufffd")).replaceAll("%2C", ",");
}

/** The parts of an address, decoded; what is no valid escape stays as it is. */
export function partsOf(address) {
  const text = address.startsWith("#") ? address.slice(1) : address;
  if (!text) return [];
  return text.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

/**
 * Where an address leads: `{panel, parts}`; the first panel where it names none that there is, and `missing` says so.
 * `#content` is where the skip link leads: no panel is meant.
 */
export function destination(address, panels) {
  const parts = partsOf(address).filter(Boolean);
  if (parts.length === 0 || parts[0] === "content") return { panel: panels[0], parts: [] };
  if (panels.includes(parts[0])) return { panel: parts[0], parts: parts.slice(1) };
  if (COMPILE_ID.test(parts[0]) && panels.includes("chain")) return { panel: "chain", parts };
  return { panel: panels[0], parts: [], missing: `the place ${shortened(parts.join("/"))}` };
}

const LONGEST_PART = 80;

/** A part of an address in a sentence. */
export function shortened(part) {
  return part.length > LONGEST_PART ? `${part.slice(0, LONGEST_PART)}…` : part;
}

/** The line that an address names, where the shown file `name` has no such line; "" where it has, or none is named. */
export function missingLine(view, part, name) {
  return part === undefined || view.has(Number(part)) ? "" : `line ${shortened(part)} of ${name}`;
}
