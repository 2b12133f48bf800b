// Which size may be what, and the line that decided.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { placeLink } from "./told.js";

export function showShapes(container, data, page) {
  fill(
    container,
    el(
      "p",
      { class: "lead" },
      "Which size of which input may be what without a recompilation. A size that is not listed is a constant of the compiled code; a symbol is never 0 or 1.",
    ),
    data.functions.map((found) => shapesCard(found, page)),
  );
}

/** Compile ids with their runs: `0/1 … 0/4`. */
export function foldedIds(ids) {
  return ids.length > 2 ? `${ids[0]} … ${ids.at(-1)}` : ids.join(", ");
}

function shapesCard(found, page) {
  return el(
    "section",
    { class: "card matrix-card" },
    el("div", { class: "card-head" }, el("h2", {}, el("code", {}, found.function)), placeLink(page, found.from)),
    el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `Sizes of ${found.function}` },
      el(
        "table",
        { class: "table" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["Size", "May be", "Symbol", "In", "Decided by"].map((title) => el("th", { scope: "col" }, title)),
          ),
        ),
        el(
          "tbody",
          {},
          found.sizes.map((row) => sizeRow(row, page)),
        ),
      ),
    ),
    conditionList("Must hold", found.conditions, page),
    conditionList("torch chose one of two ways; the code is for", found.choices, page),
  );
}

function sizeRow(row, page) {
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("code", {}, row.name)),
    el("td", {}, badge(row.constant ? "recompile" : "dimension", row.constant ? `only ${row.may_be}` : row.may_be)),
    el("td", {}, row.symbol ? el("code", {}, row.symbol) : ""),
    el("td", { class: "muted" }, foldedIds(row.entries)),
    el("td", {}, decisionList(row.decided_by, page)),
  );
}

function decisionList(found, page) {
  return found.map((decision) =>
    el(
      "p",
      { class: "decision" },
      decision.at ? [placeLink(page, decision.at, decision.line ?? ""), " "] : null,
      decision.operator ? el("code", { class: "operator" }, decision.operator) : null,
      decision.choice ? ` torch's choice: ${decision.choice}` : null,
      decision.note ? el("span", { class: "muted" }, ` ${decision.note}`) : null,
    ),
  );
}

function conditionList(title, rows, page) {
  if (!rows.length) return null;
  return el(
    "div",
    { class: "conditions" },
    el("h3", {}, title),
    el(
      "ul",
      {},
      rows
        .slice(0, 60)
        .map((row) =>
          el(
            "li",
            {},
            el("code", {}, row.condition),
            el("span", { class: "muted" }, ` in ${foldedIds(row.entries)}`),
            decisionList(row.decided_by, page),
          ),
        ),
    ),
  );
}
