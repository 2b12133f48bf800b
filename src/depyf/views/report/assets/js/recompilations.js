// Which call did not fit which entry: a matrix for each function, one letter for each reason.

import { el, fill } from "./dom.js";
import { hoverCard } from "./hover.js";
import { entryChip, functionName, placeLink, sentence, wayOf } from "./told.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function showRecompilations(container, data, page) {
  fill(
    container,
    el(
      "p",
      { class: "lead" },
      "A row is a call that made torch compile, a column an entry that was there already. The letter says which guard did not hold; rows that repeat the one above are folded.",
    ),
    data.functions.map((found) => matrixCard(found, page)),
  );
}

/** Guards that say the same of other values are one reason: [{letter, guards, at, line}]. */
export function reasonsOf(guards) {
  const found = new Map();
  guards.forEach((guard, number) => {
    const shape = `${guard.at} ${guard.guard.replace(/\d+(?:\.\d+)?/g, "#")}`;
    if (!found.has(shape))
      found.set(shape, {
        letter: letterOf(found.size),
        guard: guard.guard,
        at: guard.at,
        line: guard.line,
        numbers: [],
      });
    found.get(shape).numbers.push(number);
  });
  return [...found.values()];
}

function letterOf(index) {
  return index < 26 ? LETTERS[index] : letterOf(Math.floor(index / 26) - 1) + LETTERS[index % 26];
}

/** Rows in groups: the first of each is shown, the ones that repeat it are folded. */
export function foldedRows(rows) {
  const groups = [];
  for (const row of rows) {
    if (row.same && groups.length) groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups;
}

function matrixCard(found, page) {
  const reasons = reasonsOf(found.guards);
  const reasonOf = new Map(reasons.flatMap((reason, index) => reason.numbers.map((number) => [number, index])));
  const body = el("tbody", {});
  const groups = foldedRows(found.rows);
  const open = new Set();

  function cell(number, column) {
    if (number === null) return el("td", { class: "fit-none" });
    const guard = found.guards[number];
    const index = reasonOf.get(number);
    const mark = el(
      "span",
      {
        class: `reason hue-${index % 12}`,
        tabindex: "0",
        "aria-label": `${found.entries[column]} did not fit: ${guard.guard}`,
      },
      reasons[index].letter,
    );
    return el(
      "td",
      {},
      hoverCard(mark, () => guardCard(guard, found.entries[column], page)),
    );
  }

  function drawRow(row, group, first) {
    const reason = row.first === undefined || row.first === null ? null : found.guards[row.first];
    const more = group.length - 1;
    const toggle =
      first && more
        ? el(
            "button",
            {
              class: "button quiet fold",
              type: "button",
              "aria-expanded": String(open.has(group)),
              onclick: () => {
                if (!open.delete(group)) open.add(group);
                draw();
              },
            },
            open.has(group) ? "fold" : `+ ${more} the same`,
          )
        : null;
    return el(
      "tr",
      { class: first ? null : "repeated" },
      el("th", { scope: "row" }, entryChip(page, row), toggle && [" ", toggle]),
      row.cells.map(cell),
      el(
        "td",
        { class: "row-why" },
        reason
          ? whyOf(reason, row, first && !open.has(group) ? group : [row])
          : el("span", { class: "muted" }, "first compilation"),
      ),
    );
  }

  function whyOf(reason, row, group) {
    const values = [...new Set(group.map((one) => found.guards[one.first]?.actual).filter(Boolean))];
    const told = group.length === 1 && /\. expected .*actual /.test(reason.guard);
    const shown = values.length > 6 ? [...values.slice(0, 5), "…", values.at(-1)] : values;
    return [
      el("code", {}, reason.guard),
      !told && (reason.expected || shown.length)
        ? el(
            "span",
            { class: "muted" },
            reason.expected ? [" expected ", el("code", {}, reason.expected)] : null,
            shown.length ? [", got ", el("code", {}, shown.join(", "))] : null,
          )
        : null,
      row.state === "python" ? el("p", { class: "muted" }, "not compiled again: it ran as ordinary Python") : null,
    ];
  }

  function draw() {
    fill(
      body,
      groups.flatMap((group) => (open.has(group) ? group : [group[0]]).map((row, at) => drawRow(row, group, at === 0))),
    );
  }

  draw();
  const ways = [...new Set(found.rows.flatMap((row) => row.ways ?? []))].slice(0, 3);
  const notes = [...new Set(found.rows.flatMap((row) => row.notes ?? []))].slice(0, 3);
  return el(
    "section",
    { class: "card matrix-card" },
    el("div", { class: "card-head" }, el("h2", {}, functionName(found)), placeLink(page, found.at)),
    ways.length
      ? el(
          "div",
          { class: "way-out" },
          el("b", {}, "Way out"),
          el(
            "ul",
            {},
            ways.map((way, at) => el("li", {}, wayOf(way, at))),
          ),
        )
      : null,
    notes.map((note) => el("p", { class: "muted" }, sentence(note), ".")),
    el(
      "div",
      {
        class: "table-scroll",
        tabindex: "0",
        role: "region",
        "aria-label": `Recompilations of ${found.name}, ${found.entries[0]} and later`,
      },
      el(
        "table",
        { class: "table matrix" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "Call"),
            found.entries.map((entry) => el("th", { scope: "col", class: "column-id" }, entry)),
            el("th", { scope: "col" }, "Nearest entry did not fit"),
          ),
        ),
        body,
      ),
    ),
    el(
      "ul",
      { class: "reasons" },
      reasons.map((reason, index) =>
        el(
          "li",
          {},
          el("span", { class: `reason hue-${index % 12}`, "aria-hidden": "true" }, reason.letter),
          el(
            "span",
            {},
            el("code", {}, reason.guard),
            reason.numbers.length > 1
              ? el("span", { class: "muted" }, ` and ${reason.numbers.length - 1} like it`)
              : null,
            reason.at ? [" ", placeLink(page, reason.at, reason.line)] : null,
          ),
        ),
      ),
    ),
  );
}

function guardCard(guard, entry, page) {
  return [
    el("p", {}, el("b", {}, entry), " did not fit:"),
    el("p", {}, el("code", {}, guard.guard)),
    guard.expected ? el("p", {}, "expected ", el("code", {}, guard.expected)) : null,
    guard.actual ? el("p", {}, "got ", el("code", {}, guard.actual)) : null,
    guard.at ? el("p", {}, placeLink(page, guard.at, guard.line)) : null,
  ];
}
