// What compiled code costs, by line of the program: what tracing took, and the memory that its kernels move.

import { el, fill } from "./dom.js";
import { flameGraph } from "./flame.js";
import { bytes, count, seconds } from "./format.js";
import { dataTable } from "./table.js";
import { entryChip, placeLink } from "./told.js";

/** Kind of a cost -> [title, what it says, heading of the second line]. */
const TABLES = {
  "not fused": [
    "Not fused",
    "Pairs that use the same memory: two loops, or a loop and a kernel of a library. Inductor considered to make one of the two, and left it. The bytes are what one would not move.",
    "With",
  ],
  fallback: ["Not compiled", "Operators that run as eager's kernels.", null],
  copy: ["Copies", "Kernels, or parts of kernels, that compute nothing.", null],
  "realised buffer": [
    "Between kernels",
    "Values that one kernel writes and others read again. What a library's kernel makes or reads has to be there.",
    "Read by",
  ],
  "graph partition": ["Outside of CUDA graphs", "What torch runs between the CUDA graphs of a graph.", null],
};

export function showBill(container, data, page) {
  fill(
    container,
    data.traced ? tracedCard(data.traced, page) : null,
    data.traffic ? trafficCards(data.traffic, page) : null,
  );
}

function tracedCard(traced, page) {
  const longest = Math.max(...traced.lines.map((row) => row.seconds), 1e-9);
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h2", {}, "Compile time by line")),
    el(
      "p",
      { class: "muted" },
      `Dynamo traced the bytecode for ${seconds(traced.seconds)}: torch's phase bytecode_tracing. A line counts what it calls; what took less than a millisecond is left out.`,
    ),
    traced.trees.map((tree) => flameGraph(tree, page)),
    dataTable({
      caption: "Compile time by line",
      filter: "Filter lines",
      columns: [
        {
          title: "Seconds",
          cell: (row) =>
            el(
              "span",
              { class: "measured" },
              el("span", { class: "meter", style: { "--share": `${(100 * row.seconds) / longest}%` } }),
              seconds(row.seconds),
            ),
          sort: (row) => row.seconds,
          number: true,
        },
        { title: "Calls", key: "calls", number: true },
        { title: "Line", cell: (row) => placeLink(page, row.line.at, row.line.text) },
        { title: "Most of it", cell: (row) => el("code", {}, row.called) },
        { title: "Of", key: "owner" },
      ],
      rows: traced.lines,
    }),
  );
}

function trafficCards(traffic, page) {
  return [
    el(
      "p",
      { class: "lead" },
      `In a call of each graph ${bytes(traffic.bytes)} go through memory, in ${loopsOf(traffic)} of Inductor and ${count(traffic.library, "kernel")} of libraries. A loop is what Inductor fuses operations into: on a GPU one Triton kernel, on a CPU a part of a C++ kernel, which may hold several. A buffer counts once for each loop or kernel that uses it; the bytes are torch's own count.`,
      traffic.largest ? " Of a function with several compilations, the one that moves most is counted." : "",
    ),
    traffic.cached
      ? el(
          "p",
          { class: "muted" },
          `Of ${count(traffic.cached, "graph")} nothing is known here: the code came from a cache of torch, or another process made it.`,
        )
      : null,
    Object.entries(TABLES).map(([kind, words]) => costCard(kind, words, traffic, page)),
  ];
}

/** `27 loops in 8 kernels`; the kernels are left out where the dump does not tell which there are. */
function loopsOf({ loops, kernels }) {
  const lie = kernels ? ` in ${count(kernels, "kernel")}` : "";
  return count(loops, "loop") + lie;
}

function costCard(kind, [title, legend, other], traffic, page) {
  const rows = traffic.costs[kind] ?? [];
  if (!rows.length) return null;
  return el(
    "section",
    { class: "card" },
    el("div", { class: "card-head" }, el("h2", {}, title)),
    el("p", { class: "muted" }, legend),
    kind === "not fused" ? reasonList(traffic.reasons) : null,
    dataTable({
      caption: title,
      columns: [
        {
          title: "Bytes",
          cell: (row) => byteCell(row, traffic.bytes),
          sort: (row) => row.bytes,
          number: true,
        },
        { title: "Line", cell: (row) => lineCell(row.line, row.operators, page) },
        ...(other ? [{ title: other, cell: (row) => lineCell(row.other, row.other_operators, page) }] : []),
        { title: "Why", cell: (row) => row.why },
        { title: "In", cell: (row) => row.entries.map((entry) => [entryChip(page, { ...entry, state: "" }), " "]) },
      ],
      rows,
    }),
  );
}

function reasonList(reasons) {
  return el(
    "ul",
    {},
    reasons.map((row) => el("li", {}, `${bytes(row.bytes)} in ${count(row.pairs, "pair")}: ${row.words}`)),
  );
}

function byteCell(row, whole) {
  const share = whole ? (100 * row.bytes) / whole : 0;
  return el(
    "span",
    { class: "measured", title: `${share.toFixed(1)} % of what all kernels move` },
    el("span", { class: "meter", style: { "--share": `${Math.min(100, share)}%` } }),
    bytes(row.bytes),
    row.times > 1 ? ` in ${row.times}` : "",
  );
}

function lineCell(line, operators, page) {
  const names = operators.slice(0, 3).map((name) => name.replace(/^aten\./, ""));
  return [
    line ? placeLink(page, line.at, line.text) : null,
    names.length ? el("span", { class: "muted" }, ` ${names.join(", ")}`) : null,
  ];
}
