// What to fix first, and what became of everything: the first thing that is seen of a page.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { count, seconds } from "./format.js";
import { dataTable } from "./table.js";
import { entryChip, entryChips, functionName, placeLink, sentence, wayOf } from "./told.js";

const CAUSE_TONES = { failed: "red", recompiles: "amber", breaks: "red", "ran as Python": "violet" };

export function showFixFirst(container, data, page) {
  fill(
    container,
    runTiles(data, page),
    causeParts(data, page),
    data.checked ? checkedListed(data) : null,
    toldPart("Failed", "torch raised an error into the program.", failedTable(data.failed, page), data.failed.length),
    toldPart("Ran as Python", "Not compiled, and why.", pythonTable(data.python, page), data.python.length),
    toldPart(
      "Compiled",
      "Each function with its compilations.",
      compiledTable(data.compiled, page),
      data.compiled.length,
    ),
  );
}

/** What was compared with Python while the program ran. */
function checkedListed(data) {
  const left = data.not_checked.map((text) => el("p", { class: "muted" }, text, "."));
  return el("div", { class: "card checked" }, el("p", {}, data.checked), ...left);
}

/** What to fix, what is needed, and what each call costs: in the order and under the headings of `depyf doctor`. */
function causeParts({ causes, fine }, page) {
  const [fix, needed, calls] = ["fix", "needed", "calls"].map((part) => causes.filter((cause) => cause.part === part));
  const neededHeading = fix.length ? "Needed, with nothing to change" : "Nothing to fix: these compilations are needed";
  return [
    fix.length ? causeListed(fix, page) : null,
    fix.length || needed.length ? null : el("p", { class: "card nothing-to-fix" }, fine),
    causePart(
      neededHeading,
      needed.map((cause) => causeCard(cause, "", costShown(inSeconds(cause), mostOf(needed, inSeconds)), page)),
    ),
    causePart(
      "Each call costs most at",
      calls.map((cause, index) => causeCard(cause, fix.length + index + 1, null, page)),
    ),
  ];
}

function causePart(title, cards) {
  if (!cards.length) return null;
  return el("section", { class: "cause-part" }, el("h2", {}, title), el("ol", { class: "causes" }, cards));
}

function mostOf(causes, cost) {
  return Math.max(...causes.map((cause) => cost(cause).amount), 0);
}

/** The causes in the order of what they cost in every call, or by the seconds of compiling. */
function causeListed(causes, page) {
  const timed = causes.length > 1 && causes.some((cause) => cause.seconds);
  const list = el("ol", { class: "causes" });
  const bySeconds = el(
    "select",
    { "aria-label": "Order", onchange: draw },
    el("option", { value: "" }, "by what they cost in every call"),
    el("option", { value: "seconds" }, "by seconds of compiling"),
  );

  function draw() {
    const numbered = causes.map((cause, index) => [cause, index + 1]);
    const cost = bySeconds.value || !timed ? inSeconds : inCalls;
    if (bySeconds.value) numbered.sort(([one], [other]) => (other.seconds ?? 0) - (one.seconds ?? 0));
    const most = mostOf(causes, cost);
    fill(
      list,
      numbered.map(([cause, number]) => causeCard(cause, number, costShown(cost(cause), most), page)),
    );
  }

  draw();
  return [timed ? el("div", { class: "toolbar cause-order" }, bySeconds) : null, list];
}

function runTiles({ counts, seconds: spent }, page) {
  const shown = [
    ["compiling", spent === null ? "–" : seconds(spent), "timeline", ""],
    [counts.functions === 1 ? "function" : "functions", counts.functions, "call-tree", ""],
    [counts.compilations === 1 ? "compilation" : "compilations", counts.compilations, "call-tree", ""],
    [counts.kernels === 1 ? "kernel" : "kernels", counts.kernels, "files", ""],
    [counts.breaks === 1 ? "line breaks the graph" : "lines break the graph", counts.breaks, "source", "red"],
    [
      counts.recompilations === 1 ? "recompilation" : "recompilations",
      counts.recompilations,
      "recompilations",
      "amber",
    ],
    ["ran as Python", counts.python, "", "violet"],
    ["failed", counts.failed, "", "red"],
  ];
  return el(
    "ul",
    { class: "tiles", "aria-label": "This run in numbers" },
    shown.map(([label, value, panel, tone]) => {
      const leads = panel && page.panels.some(({ id }) => id === panel);
      const quiet = value === 0 || !tone;
      return el(
        "li",
        {},
        el(
          leads ? "a" : "div",
          { class: `tile${quiet ? "" : ` tone-${tone}`}`, href: leads ? page.href(panel) : null },
          el("b", {}, value),
          el("span", {}, label),
        ),
      );
    }),
  );
}

/** What a cause costs, as the order goes by it. */
function inSeconds(cause) {
  const amount = cause.seconds ?? 0;
  return { amount, text: amount ? seconds(amount) : "", title: "seconds of compiling that it caused" };
}

function inCalls(cause) {
  return { amount: cause.weight, text: cause.weighs, title: "what it costs in every call, beside the others" };
}

function costShown({ amount, text, title }, most) {
  if (!amount) return el("div", { class: "cause-seconds" });
  const share = Math.max(2, (100 * amount) / most);
  return el(
    "div",
    { class: "cause-seconds", title },
    el("b", {}, text),
    el("span", { class: "meter", style: { "--share": `${share}%` } }),
  );
}

function causeCard(cause, number, cost, page) {
  const tone = CAUSE_TONES[cause.kind] ?? "blue";
  return el(
    "li",
    { class: `cause card tone-${tone}` },
    el("span", { class: number ? "cause-number" : "", "aria-hidden": "true" }, number),
    el(
      "div",
      { class: "cause-body" },
      el(
        "div",
        { class: "cause-head" },
        cause.at ? placeLink(page, cause.at, cause.line) : el("code", {}, cause.function),
        cause.module ? el("span", { class: "muted" }, "in ", el("code", {}, cause.module)) : null,
      ),
      el("p", { class: "cause-text" }, sentence(cause.text), "."),
      cause.more ? el("p", { class: "muted" }, sentence(cause.more), ".") : null,
      cause.inside ? el("p", { class: "muted" }, "asked in ", placeLink(page, cause.inside)) : null,
      cause.ways.length
        ? el(
            "div",
            { class: "way-out" },
            el("b", {}, "Way out"),
            el(
              "ul",
              {},
              cause.ways.map((way, at) =>
                el(
                  "li",
                  {},
                  wayOf(way.text, at),
                  way.predicted ? el("span", { class: "muted" }, ` (${way.predicted})`) : null,
                ),
              ),
            ),
          )
        : cause.notes.map((note) => el("p", { class: "muted" }, sentence(note))),
      el(
        "div",
        { class: "cause-cost" },
        el(
          "span",
          { class: "muted" },
          cause.seconds ? `${cause.cost}, ${seconds(cause.seconds)} of compiling` : cause.cost,
        ),
        el(
          "span",
          { class: "chips" },
          cause.entries.slice(0, 8).map((entry) => entryChip(page, { ...entry, state: "" })),
        ),
      ),
      cause.evidence.some((record) => record.line !== null) ? evidenceListed(cause) : null,
    ),
    cost,
  );
}

/** The records of torch's log that a cause rests on, each with its line. */
function evidenceListed({ evidence, log }) {
  return el(
    "details",
    { class: "evidence" },
    el("summary", { class: "muted" }, `Evidence in ${log}`),
    el(
      "ul",
      { class: "plain-list" },
      evidence.map((record) =>
        el("li", {}, badge("plain", record.id), " ", el("code", {}, record.record), `, line ${record.line}`),
      ),
    ),
    el("p", { class: "muted" }, "One of them as torch wrote it: ", el("code", {}, `depyf show ${log} LINE`)),
  );
}

function toldPart(title, lead, table, number) {
  if (!number) return null;
  return el(
    "section",
    { class: "told-part" },
    el("h2", {}, title, " ", el("span", { class: "count" }, number)),
    el("p", { class: "muted" }, lead),
    table,
  );
}

function failedTable(rows, page) {
  return dataTable({
    caption: "Failed",
    columns: [
      { title: "Function", cell: (row) => functionName(row) },
      { title: "At", cell: (row) => placeLink(page, row.at) },
      { title: "Compilation", cell: (row) => entryChip(page, row) },
      { title: "Why", cell: (row) => [row.why, row.way ? el("p", { class: "way" }, row.way) : null] },
    ],
    rows,
  });
}

function pythonTable(rows, page) {
  return dataTable({
    caption: "Ran as Python",
    columns: [
      {
        title: "Function",
        cell: (row) => [
          functionName(row),
          row.also_compiled
            ? [" ", badge("note", "at first compiled", { card: () => "Earlier calls ran compiled code." })]
            : "",
        ],
      },
      { title: "At", cell: (row) => placeLink(page, row.at) },
      { title: "Why", cell: (row) => [row.why, row.way ? el("p", { class: "way" }, row.way) : null] },
      { title: "Calls", cell: (row) => entryChips(page, row.entries) },
    ],
    rows,
  });
}

function compiledTable(rows, page) {
  return dataTable({
    caption: "Compiled",
    columns: [
      { title: "Function", cell: (row) => functionName(row) },
      { title: "At", cell: (row) => placeLink(page, row.at) },
      { title: "Compilations", cell: (row) => entryChips(page, row.entries), sort: (row) => row.entries.length },
      { title: "Kernels", key: "kernels", number: true },
      { title: "Compiling", cell: (row) => seconds(row.seconds), sort: (row) => row.seconds ?? 0, number: true },
    ],
    rows,
    filter: rows.length > 12 ? `Filter ${count(rows.length, "function")}` : null,
  });
}
