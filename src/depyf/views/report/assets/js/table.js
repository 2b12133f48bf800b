// A table that sorts by a click on a heading, and filters by what is typed.

import { el, fill } from "./dom.js";

/**
 * `columns`: `{title, key}` or `{title, cell(row) -> node or text}`, with `sort(row)` where the order is not that of the text, and
 * `number: true` for what stands on the right and sorts from the largest.  `filter`: what the empty field says; none: no field.
 */
export function dataTable({ columns, rows, filter = null, empty = "Nothing here.", caption = null, onRow = null }) {
  let order = null;
  let needle = "";
  const valueOf = (column, row) =>
    column.sort ? column.sort(row) : column.key ? row[column.key] : textOf(column, row);
  const texts = new Map();
  const body = el("tbody", {});
  const said = el("span", { class: "table-count muted", role: "status" });
  const heads = columns.map((column, index) =>
    el(
      "th",
      { scope: "col", class: column.number ? "number" : null, "aria-sort": "none" },
      column.title
        ? el(
            "button",
            { class: "th-button", type: "button", onclick: () => sortBy(index) },
            column.title,
            el("i", { class: "sort-mark", "aria-hidden": "true" }),
          )
        : null,
    ),
  );

  function textOf(column, row) {
    const shown = column.cell ? column.cell(row) : row[column.key];
    return shown instanceof Node
      ? shown.textContent
      : [shown]
          .flat(Infinity)
          .map((part) => part?.textContent ?? part ?? "")
          .join(" ");
  }

  function wholeText(row) {
    if (!texts.has(row))
      texts.set(
        row,
        columns
          .map((column) => textOf(column, row))
          .join(" ")
          .toLowerCase(),
      );
    return texts.get(row);
  }

  function sortBy(index) {
    const downFirst = Boolean(columns[index].number);
    order = order?.index === index ? { index, down: !order.down } : { index, down: downFirst };
    heads.forEach((head, at) =>
      head.setAttribute("aria-sort", at !== index ? "none" : order.down ? "descending" : "ascending"),
    );
    draw();
  }

  function draw() {
    let shown = needle ? rows.filter((row) => wholeText(row).includes(needle)) : [...rows];
    if (order) {
      const column = columns[order.index];
      shown = shown
        .map((row) => [valueOf(column, row), row])
        .sort(([one], [other]) => compareValues(one, other) * (order.down ? -1 : 1))
        .map(([, row]) => row);
    }
    fill(
      body,
      shown.length
        ? shown.map(drawRow)
        : el(
            "tr",
            {},
            el("td", { colspan: columns.length, class: "empty" }, rows.length ? "No row has this text." : empty),
          ),
    );
    fill(said, needle ? `${shown.length} of ${rows.length}` : "");
  }

  function drawRow(row) {
    const cells = columns.map((column) =>
      el(
        "td",
        { class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null },
        column.cell ? column.cell(row) : row[column.key],
      ),
    );
    return el(
      "tr",
      onRow ? { class: "clickable", onclick: (event) => event.target.closest("a, button") || onRow(row) } : {},
      cells,
    );
  }

  draw();
  const field =
    filter &&
    el("input", {
      type: "search",
      class: "field",
      placeholder: filter,
      "aria-label": filter,
      oninput: (event) => {
        needle = event.target.value.trim().toLowerCase();
        draw();
      },
    });
  return el(
    "div",
    { class: "table-box" },
    field && el("div", { class: "toolbar" }, field, said),
    el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption ?? "Table" },
      el(
        "table",
        { class: "table" },
        caption && el("caption", { class: "unseen" }, caption),
        el("thead", {}, el("tr", {}, heads)),
        body,
      ),
    ),
  );
}

/** Numbers by size, texts as people sort them (`x2` before `x10`), what is missing last. */
export function compareValues(one, other) {
  const blank = (value) => value === null || value === undefined || value === "";
  if (blank(one) || blank(other)) return Number(blank(one)) - Number(blank(other));
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}
