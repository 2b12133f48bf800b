// A file, shown: line numbers, colours, marked lines, a selected line.  Blocks of lines are filled when they come into view,
// so that a file of 10 000 lines opens at once; a block that was filled stays, and all are filled before printing.

import { el } from "./dom.js";
import { piecesOf } from "./tokens.js";

const BLOCK = 120;
let views = 0;

/**
 * Show `lines` ([text, runs] each), the first of which has the number `first`.
 *
 * `onSelect(line, event)` is called when a person selects a line, by mouse or keys.  `before(line)` and `after(line)` give what is
 * shown left of the text and right of it, or null.  `label` names the file to a screen reader.
 */
export function codeView({ lines, label = "", first = 1, onSelect = null, before = null, after = null }) {
  views += 1;
  const id = `code-${views}`;
  const marks = new Map();
  const blocks = [];
  let selected = null;
  const digits = String(first + lines.length - 1).length;
  const widest = lines.reduce((most, [text]) => Math.max(most, text.length), 0);

  const body = el("div", {
    class: "code-body",
    role: "presentation",
    style: { "--digits": digits, "--widest": Math.min(widest, 2000) },
  });
  const element = el(
    "div",
    {
      class: before ? "code has-before" : "code",
      tabindex: "0",
      role: lines.length ? "grid" : "region",
      "aria-label": label,
    },
    lines.length === 0 ? el("p", { class: "empty" }, "This file is empty.") : body,
  );
  for (let start = 0; start < lines.length; start += BLOCK) {
    const end = Math.min(start + BLOCK, lines.length);
    const block = el("div", { class: "code-block", role: "presentation", style: { "--lines": end - start } });
    blocks.push({ start, end, element: block, rows: null });
    body.append(block);
  }

  function fillBlock(block) {
    if (block.rows) return;
    block.rows = [];
    for (let index = block.start; index < block.end; index += 1) block.rows.push(rowOf(index));
    block.element.append(...block.rows);
    block.element.setAttribute("role", "rowgroup");
    block.element.classList.add("filled");
  }

  function rowOf(index) {
    const line = first + index;
    const [text, runs] = lines[index];
    const pieces = piecesOf(text, runs).map(([letter, piece]) =>
      letter === "t" ? piece : el("span", { class: `tk-${letter}` }, piece),
    );
    const row = el(
      "div",
      { class: "line", role: "row", id: `${id}-${line}`, "data-line": line, "aria-selected": "false" },
      el("span", { class: "line-number", "aria-hidden": "true" }, line),
      before && el("span", { class: "line-before", role: "gridcell" }, before(line)),
      el("span", { class: "line-text", role: "gridcell" }, pieces.length ? pieces : "\u200b"),
      after && el("span", { class: "line-after", role: "gridcell" }, after(line)),
    );
    for (const [which, numbers] of marks) if (numbers.has(line)) row.classList.add(`mark-${which}`);
    if (line === selected) choose(row, true);
    return row;
  }

  function choose(row, chosen) {
    row.classList.toggle("mark-selected", chosen);
    row.setAttribute("aria-selected", String(chosen));
    if (chosen) element.setAttribute("aria-activedescendant", row.id);
  }

  function existing(line) {
    const index = line - first;
    return blocks[Math.floor(index / BLOCK)]?.rows?.[index % BLOCK] ?? null;
  }

  /** Put the class `mark-WHICH` on these lines, and take it from all others. */
  function mark(which, numbers) {
    const now = new Set(numbers);
    const earlier = marks.get(which) ?? new Set();
    for (const line of earlier) if (!now.has(line)) existing(line)?.classList.remove(`mark-${which}`);
    for (const line of now) if (!earlier.has(line)) existing(line)?.classList.add(`mark-${which}`);
    if (now.size) marks.set(which, now);
    else marks.delete(which);
  }

  /** Select a line without telling `onSelect`; null selects none. */
  function select(line) {
    const old = selected === null ? null : existing(selected);
    selected = line;
    if (old) choose(old, false);
    const row = line === null ? null : rowAt(line);
    if (row) choose(row, true);
    else element.removeAttribute("aria-activedescendant");
  }

  function rowAt(line) {
    const block = blocks[Math.floor((line - first) / BLOCK)];
    if (!block) return null;
    fillBlock(block);
    return existing(line);
  }

  /** Scroll a line into view: only where it is out of view, or to the middle. */
  function reveal(line, { center = false } = {}) {
    const row = rowAt(line);
    if (!row) return;
    const top = row.offsetTop;
    const height = element.clientHeight;
    const inside = top >= element.scrollTop && top + row.offsetHeight <= element.scrollTop + height;
    if (!inside || center) element.scrollTop = Math.max(0, top - Math.max(0, (height - row.offsetHeight) / 2));
  }

  /** The height of a line: all have the same. */
  function lineHeight() {
    const last = blocks[blocks.length - 1].element;
    return (last.offsetTop + last.offsetHeight - textTop()) / lines.length;
  }

  function textTop() {
    return blocks[0].element.offsetTop;
  }

  /** What is in the middle of the view: a line from 0, with its fraction. */
  function middle() {
    if (lines.length === 0) return 0;
    return (element.scrollTop + element.clientHeight / 2 - textTop()) / lineHeight();
  }

  /** Scroll such a position to the middle. */
  function centre(position) {
    if (lines.length === 0) return;
    element.scrollTop = position * lineHeight() + textTop() - element.clientHeight / 2;
  }

  function pick(line, event) {
    if (line < first || line >= first + lines.length) return;
    select(line);
    reveal(line);
    onSelect?.(line, event);
  }

  element.addEventListener("click", (event) => {
    const row = event.target instanceof Element ? event.target.closest(".line") : null;
    if (!row || event.target.closest("a, button")) return;
    if (String(document.getSelection() ?? "") && !event.target.closest(".line-number")) return;
    pick(Number(row.dataset.line), event);
  });
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const page = Math.max(1, Math.floor(element.clientHeight / 20) - 1);
    const here = selected ?? first - 1;
    if (step) pick(Math.max(first, here + step), event);
    else if (event.key === "PageDown") pick(Math.min(first + lines.length - 1, here + page), event);
    else if (event.key === "PageUp") pick(Math.max(first, here - page), event);
    else if (event.key === "Home") pick(first, event);
    else if (event.key === "End") pick(first + lines.length - 1, event);
    else return;
    event.preventDefault();
  });

  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        observer.unobserve(entry.target);
        fillBlock(blocks.find((block) => block.element === entry.target));
      }
    },
    { root: null, rootMargin: "600px 0px" },
  );
  blocks.forEach((block, index) => (index === 0 ? fillBlock(block) : observer.observe(block.element)));
  window.addEventListener("beforeprint", () => {
    if (element.isConnected && element.offsetParent) blocks.forEach(fillBlock);
  });

  const has = (line) => Number.isInteger(line) && line >= first && line < first + lines.length;
  return { element, mark, select, reveal, middle, centre, has, count: lines.length };
}
