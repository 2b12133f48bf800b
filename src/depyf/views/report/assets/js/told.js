// What all panels show the same way: places of the program, and compilations.

import { badge } from "./badges.js";
import { el } from "./dom.js";
import { compileId, count, seconds } from "./format.js";

/** What became of a compilation -> [kind of badge, what it means]. */
const END_STATES = {
  ok: ["good", "compiled: one graph"],
  broke: ["break", "a graph break: the rest of the function is compiled as another graph"],
  python: ["eager", "not compiled: it ran as ordinary Python"],
  failed: ["failed", "torch raised an error"],
  unfinished: ["plain", "the dump does not say how it ended"],
};
const MOST_CHIPS = 4;

/** `train.py:45` of a whole path. */
export function placeName(at) {
  const path = at.replace(/:\d+$/, "");
  const parts = path.split(/[\\/]/);
  const last = parts.pop() || path;
  const shown = last === "__init__.py" && parts.length ? `${parts.pop()}/${last}` : last;
  return shown + at.slice(path.length);
}

/** A link to a line of the program, with its text where that is known. */
export function placeLink(page, at, line = "") {
  if (!at) return null;
  const [, path, number] = at.match(/^(.*?)(?::(\d+))?$/s);
  const there = page.panels.some(({ id }) => id === "source") && page.about.sources.includes(path);
  const tag = there ? "a" : "span";
  const place = el(
    tag,
    { class: "place mono", title: at, href: there ? page.href("source", path, number) : null },
    placeName(at),
  );
  return line ? el("span", { class: "placed" }, place, " ", el("code", { class: "place-line" }, line)) : place;
}

/** A compilation as a link to its chain; the card says what became of it. */
export function entryChip(page, entry) {
  const [kind, meaning] = END_STATES[entry.state] ?? ["plain", ""];
  const label = compileId(entry.id, entry.generation);
  return badge(kind, label || "none", {
    href: chainOf(page, entry),
    card: () => [
      el("p", {}, el("b", {}, label), meaning ? ` ${meaning}` : ""),
      entry.seconds === undefined ? null : el("p", { class: "muted" }, `${seconds(entry.seconds)} of compiling`),
    ],
  });
}

/** The address of a compilation's chain, or of a line of one of its stages; null where the page has no chain. */
export function chainOf(page, entry, ...parts) {
  if (!entry.id || !page.panels.some(({ id }) => id === "chain")) return null;
  const id = entry.generation ? `${entry.id}r${entry.generation}` : entry.id;
  return page.href(...id.split("/"), ...parts);
}

/** Compilations in order; more than four that ended alike are two ends and dots. */
export function entryChips(page, entries) {
  const runs = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run && run[0].state === entry.state) run.push(entry);
    else runs.push([entry]);
  }
  return el(
    "span",
    { class: "chips" },
    runs.map((run) =>
      run.length <= MOST_CHIPS
        ? run.map((entry) => entryChip(page, entry))
        : [
            entryChip(page, run[0]),
            el("span", { class: "muted", title: count(run.length, "compilation") }, "…"),
            entryChip(page, run.at(-1)),
          ],
    ),
  );
}

/** The name of a function; what goes on after a break says after which line. */
export function functionName({ name, after }) {
  return el(
    "span",
    { class: "function-name" },
    el("code", {}, name),
    after === undefined ? null : el("span", { class: "muted" }, ` after line ${after}`),
  );
}

/** A sentence with its first letter large, and what is in backquotes as code. */
export function sentence(text) {
  return withCode(/^[a-z]+ /.test(text) ? text[0].toUpperCase() + text.slice(1) : text);
}

/** The same of a way out, number `at` of several: before all but the first stands "or". */
export function wayOf(text, at) {
  return at ? withCode(text) : sentence(text);
}

function withCode(text) {
  return text
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith("`") && part.length > 2 ? el("code", {}, part.slice(1, -1)) : part));
}
