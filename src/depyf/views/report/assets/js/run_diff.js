// What changed between two runs: causes first, then time, events, stages, and the files themselves.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { count, seconds } from "./format.js";
import { changeLine } from "./ranks.js";
import { dataTable } from "./table.js";
import { placeLink } from "./told.js";

export function showRunDiff(container, data, page) {
  fill(
    container,
    el(
      "div",
      { class: "two-runs" },
      sideCard(1, data.first),
      el("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      sideCard(2, data.second),
    ),
    data.comparisons.map((found) => comparison(found, page)),
  );
}

function sideCard(number, side) {
  return el(
    "div",
    { class: "card run-side" },
    el("span", { class: "cause-number" }, number),
    el("b", {}, side.name),
    el(
      "span",
      { class: "muted" },
      [side.torch && `torch ${side.torch}`, side.python && `Python ${side.python}`].filter(Boolean).join(" · "),
    ),
  );
}

function comparison(found, page) {
  const title = found.rank === null ? null : el("h2", { class: "part-title" }, `rank ${found.rank}`);
  if (found.problem) return [title, el("p", { class: "notice" }, found.problem)];
  if (found.equal && !found.events.length)
    return [title, el("p", { class: "card nothing-to-fix" }, "The two runs did the same.")];
  const { gone, new: fresh, kept } = found.causes;
  return [
    title,
    el(
      "div",
      { class: "grid" },
      causeList("Fixed", "good", gone, page, "Nothing was fixed."),
      causeList("New", "failed", fresh, page, "Nothing new."),
      causeList("Still there", "plain", kept, page, "Nothing is left."),
    ),
    found.events.length
      ? [
          el("h2", { class: "part-title" }, "What happened differently"),
          el(
            "ul",
            { class: "card plain-list" },
            found.events.map((event) => el("li", {}, event)),
          ),
        ]
      : null,
    el("h2", { class: "part-title" }, "Functions"),
    functionsTable(found.functions, page),
    el("h2", { class: "part-title" }, "Stages"),
    stageTable(found.stages),
    found.files.length ? [el("h2", { class: "part-title" }, "Files"), filesOf(found)] : null,
  ];
}

function causeList(title, kind, causes, page, none) {
  return el(
    "section",
    { class: "card" },
    el("h2", {}, title, " ", badge(kind, causes.length)),
    causes.length
      ? el(
          "ul",
          { class: "plain-list" },
          causes.map((cause) =>
            el(
              "li",
              {},
              cause.at ? placeLink(page, cause.at, cause.line) : null,
              el("p", { class: "muted" }, cause.text),
            ),
          ),
        )
      : el("p", { class: "muted" }, none),
  );
}

function functionsTable(rows, page) {
  const side = (index) => (row) =>
    row.cells[index] === null
      ? el("span", { class: "muted" }, "not compiled")
      : [
          count(row.cells[index].entries.length, "compilation"),
          row.cells[index].seconds === null
            ? null
            : el("span", { class: "muted" }, ` · ${seconds(row.cells[index].seconds)}`),
        ];
  const change = (row) => (row.cells[1]?.seconds ?? 0) - (row.cells[0]?.seconds ?? 0);
  return dataTable({
    caption: "Functions of the two runs",
    columns: [
      { title: "Function", cell: (row) => [el("code", {}, row.name), " ", placeLink(page, row.at)] },
      { title: "1", cell: side(0), sort: (row) => row.cells[0]?.seconds ?? -1 },
      { title: "2", cell: side(1), sort: (row) => row.cells[1]?.seconds ?? -1 },
      {
        title: "Compiling",
        number: true,
        sort: change,
        cell: (row) => {
          const more = change(row);
          if (Math.abs(more) < 0.01) return "";
          return el(
            "span",
            { class: more > 0 ? "worse" : "better" },
            `${more > 0 ? "+" : "−"}${seconds(Math.abs(more))}`,
          );
        },
      },
    ],
    rows,
  });
}

function stageTable(rows) {
  const number = (key) => ({
    number: true,
    sort: (row) => row[key],
    cell: (row) => row[key] || el("span", { class: "muted" }, "·"),
  });
  return dataTable({
    caption: "Files by stage",
    columns: [
      { title: "Stage", key: "stage" },
      { title: "Same", ...number("same") },
      { title: "Alike", ...number("alike") },
      { title: "Differ", ...number("differ") },
      { title: "Only in 1", ...number("only_first") },
      { title: "Only in 2", ...number("only_second") },
    ],
    rows,
  });
}

function filesOf(found) {
  return el(
    "div",
    { class: "diff-files" },
    found.files.map((file) => {
      const body = el("pre", { class: "change", tabindex: "0" });
      return el(
        "details",
        {
          class: "card diff-file",
          ontoggle: (event) => {
            if (event.target.open && !body.childNodes.length)
              fill(
                body,
                file.diff.map(changeLine),
                file.more ? el("span", { class: "muted" }, `and ${file.more} more lines: depyf diff -u`) : null,
              );
          },
        },
        el(
          "summary",
          {},
          el("code", { class: "clip" }, file.file),
          file.where === "both"
            ? [badge("good", `+${file.added}`), badge("failed", `−${file.removed}`)]
            : badge("plain", `only in ${file.where === "first" ? 1 : 2}`),
        ),
        body,
      );
    }),
  );
}
