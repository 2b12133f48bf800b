// When torch compiled what: a row for each compilation, its phases in colours, and inside them when a row is opened.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { count, seconds } from "./format.js";
import { hoverCard } from "./hover.js";
import { entryChip } from "./told.js";

/** Kinds of work: [id, what a person calls it, names of torch's phases that begin it]. */
const WORK_KINDS = [
  [
    "dynamo",
    "Dynamo: tracing, and all around it",
    /^(dynamo$|entire_frame|compile_attempt|bytecode_tracing|insert_deferred|_compile)/,
  ],
  ["guards", "Dynamo: making guards", /^build_guards/],
  [
    "cache",
    "Caches: looking and loading",
    /cache|torch_key|triton_key|inductor_load|read_and_emit|Bundler|load_by_key/i,
  ],
  [
    "autograd",
    "AOTAutograd: forward and backward",
    /^(aot_|create_aot|backend_compile|entire_backward|min_cut|joint|_recursive_joint|compile_fx)/,
  ],
  ["passes", "Passes over graphs", /pass|fake_tensor_prop|GraphLowering\.run|constant_fold/],
  ["code", "Inductor: writing code", /codegen|code_gen|Scheduler|inductor_compile|fx_codegen|compile_to|PythonWrapper/],
  ["compiler", "C++ or Triton compiler", /compile_file|async_compile|triton|precompile|cpp|parallel/],
  ["depyf", "depyf: decompiling", /^bytecode_hooks/],
];
const OTHER_WORK = ["other", "Other"];

/** The kind of work of a phase, by torch's name. */
export function kindOf(name) {
  return (WORK_KINDS.find(([, , pattern]) => pattern.test(name)) ?? OTHER_WORK)[0];
}

/** Seconds that each kind of work took by itself, without what stands in it; only what the compiling thread did. */
export function timesByKind(spans, names) {
  const spent = new Map();
  const above = [];
  for (const [name, , length, depth, thread] of spans) {
    if (thread !== 0) continue;
    above.length = Math.min(above.length, depth);
    const kind = kindOf(names[name]);
    spent.set(kind, (spent.get(kind) ?? 0) + length);
    if (above.length) {
      const outer = above.at(-1);
      spent.set(outer, spent.get(outer) - length);
    }
    above.push(kind);
  }
  return spent;
}

/** Pieces of one line: what the innermost phase is at each moment. */
export function piecesOfSpans(spans, names) {
  const own = spans.filter(([, , , , thread]) => thread === 0);
  const pieces = [];
  own.forEach(([name, start, length, depth], index) => {
    let at = start;
    const end = start + length;
    for (const [, inner, innerLength, innerDepth] of own.slice(index + 1)) {
      if (inner >= end) break;
      if (innerDepth !== depth + 1) continue;
      if (inner > at) pieces.push([at, inner - at, kindOf(names[name])]);
      at = Math.max(at, inner + innerLength);
    }
    if (end > at) pieces.push([at, end - at, kindOf(names[name])]);
  });
  return pieces.filter(([, length]) => length > 0).sort((one, other) => one[0] - other[0]);
}

/** Where a moment stands, in percent; `packed`: what ran between compilations takes no room. */
export function scaleOf(rows, packed) {
  const spans = rows.map((row) => [row.start, row.end]).sort((one, other) => one[0] - other[0]);
  const merged = [];
  for (const [start, end] of spans) {
    if (merged.length && start <= merged.at(-1)[1]) merged.at(-1)[1] = Math.max(merged.at(-1)[1], end);
    else merged.push([start, end]);
  }
  if (!packed) {
    const last = Math.max(...spans.map(([, end]) => end));
    return { length: last, at: (moment) => (100 * moment) / last };
  }
  const length = merged.reduce((sum, [start, end]) => sum + end - start, 0) || 1;
  return {
    length,
    at(moment) {
      let before = 0;
      for (const [start, end] of merged) {
        if (moment <= start) break;
        before += Math.min(moment, end) - start;
      }
      return (100 * before) / length;
    },
  };
}

export function showTimeline(container, data, page) {
  const { names } = data;
  const rows = data.rows.filter((row) => row.id);
  const helpers = data.rows.filter((row) => !row.id);
  const totals = new Map();
  for (const row of rows)
    for (const [kind, spent] of timesByKind(row.spans, names)) totals.set(kind, (totals.get(kind) ?? 0) + spent);
  const packed = el("button", {
    class: "button",
    type: "button",
    "aria-pressed": "true",
    title: "Leave out the time in which the program ran and torch did not compile",
    onclick: () => {
      packed.setAttribute("aria-pressed", String(packed.getAttribute("aria-pressed") !== "true"));
      draw();
    },
  });
  packed.append("compiling only");
  const chart = el("div", { class: "waterfall", role: "table", "aria-label": "Compilations over time" });
  const open = new Set();

  function draw() {
    const scale = scaleOf([...rows, ...helpers], packed.getAttribute("aria-pressed") === "true");
    fill(
      chart,
      timeAxis(scale),
      rows.map((row) => rowOf(row, scale)),
      helpers.map((row) => helperOf(row, scale)),
    );
  }

  function rowOf(row, scale) {
    const shown = open.has(row);
    const lane = el(
      "div",
      { class: "lane", role: "cell" },
      piecesOfSpans(row.spans, names).map(([start, length, kind]) => workBar(scale, start, length, kind)),
    );
    const toggle = el(
      "button",
      {
        class: "button quiet fold",
        type: "button",
        "aria-expanded": String(shown),
        "aria-label": `Phases of ${row.id}`,
        onclick: () => {
          if (!open.delete(row)) open.add(row);
          draw();
        },
      },
      shown ? "▾" : "▸",
    );
    hoverCard(lane, () => rowCard(row));
    return [
      el(
        "div",
        { class: "waterfall-row", role: "row" },
        el(
          "div",
          { class: "waterfall-label", role: "rowheader" },
          toggle,
          entryChip(page, row),
          el("span", { class: "clip", title: row.function }, row.function),
          warmth(row),
        ),
        lane,
        el("span", { class: "waterfall-seconds", role: "cell" }, seconds(row.spent)),
      ),
      shown ? flamesOf(row, scale) : null,
    ];
  }

  function flamesOf(row) {
    const own = row.spans.filter(([, , , , thread]) => thread === 0);
    const start = Math.min(...own.map(([, from]) => from));
    const end = Math.max(...own.map(([, from, length]) => from + length));
    const whole = end - start || 1;
    const deepest = Math.max(...own.map(([, , , depth]) => depth));
    return el(
      "div",
      { class: "flames", style: { "--rows": deepest + 1 } },
      own.map(([name, from, length, depth]) => {
        const share = (100 * length) / whole;
        const flame = el(
          "span",
          {
            class: `flame work-${kindOf(names[name])}`,
            style: { "--from": `${(100 * (from - start)) / whole}%`, "--share": `${share}%`, "--depth": depth },
          },
          share > 5 ? names[name].replace(/^pass\./, "") : "",
        );
        return hoverCard(flame, () => [
          el("p", {}, el("b", {}, names[name])),
          el("p", {}, `${seconds(length)}, ${seconds(from - start)} after it began`),
        ]);
      }),
    );
  }

  function rowCard(row) {
    const spent = [...timesByKind(row.spans, names)].filter(([, value]) => value > 0.0005).sort((a, b) => b[1] - a[1]);
    return [
      el("p", {}, el("b", {}, row.id), ` ${row.function}: ${seconds(row.spent)}`),
      el(
        "ul",
        { class: "legend" },
        spent.map(([kind, value]) => legendItem(kind, value)),
      ),
      row.caches.length
        ? el("p", { class: "muted" }, row.caches.map(([cache, status]) => `${cache}: ${status}`).join(", "))
        : null,
    ];
  }

  function helperOf(row, scale) {
    const threads = [...new Set(row.spans.map(([, , , , thread]) => thread))].sort((one, other) => one - other);
    return threads.map((thread) => {
      const own = row.spans.filter((span) => span[4] === thread && span[3] === 0);
      const lane = el(
        "div",
        { class: "lane", role: "cell" },
        own.map(([name, start, length]) => workBar(scale, start, length, kindOf(names[name]))),
      );
      return el(
        "div",
        { class: "waterfall-row", role: "row" },
        el(
          "div",
          { class: "waterfall-label muted", role: "rowheader" },
          thread === 0 ? "of no compilation" : `helper thread ${thread}`,
        ),
        lane,
        el("span", { class: "waterfall-seconds", role: "cell" }, seconds(own.reduce((sum, span) => sum + span[2], 0))),
      );
    });
  }

  const compiling = [...totals.values()].reduce((sum, value) => sum + value, 0);
  const ordered = [...totals].filter(([, value]) => value > 0).sort((one, other) => other[1] - one[1]);
  fill(
    container,
    el(
      "p",
      { class: "lead" },
      `${seconds(compiling)} in ${count(rows.length, "row")}. `,
      "Each is a compilation, or an attempt at one, with what torch does before and after what it counts as compiling. Open one for its phases.",
    ),
    el(
      "div",
      { class: "card shares" },
      el(
        "div",
        { class: "share-bar", role: "img", "aria-label": "Where the time went" },
        ordered.map(([kind, value]) =>
          el("span", { class: `work-${kind}`, style: { "--share": `${(100 * value) / (compiling || 1)}%` } }),
        ),
      ),
      el(
        "ul",
        { class: "legend" },
        ordered.map(([kind, value]) => legendItem(kind, value, compiling)),
      ),
    ),
    el("div", { class: "toolbar" }, packed),
    el("div", { class: "card waterfall-card", tabindex: "0", role: "region", "aria-label": "Waterfall" }, chart),
  );
  draw();
}

function legendItem(kind, value, whole = 0) {
  const title = ([...WORK_KINDS, OTHER_WORK].find(([id]) => id === kind) ?? OTHER_WORK)[1];
  const share = whole ? ` · ${Math.round((100 * value) / whole)}\u00a0%` : "";
  return el(
    "li",
    {},
    el("i", { class: `swatch work-${kind}`, "aria-hidden": "true" }),
    title,
    el("span", { class: "muted" }, ` ${seconds(value)}${share}`),
  );
}

function workBar(scale, start, length, kind) {
  const from = scale.at(start);
  return el("span", {
    class: `bar work-${kind}`,
    style: { "--from": `${from}%`, "--share": `${scale.at(start + length) - from}%` },
  });
}

function timeAxis(scale) {
  const steps = [0, 0.25, 0.5, 0.75, 1];
  return el(
    "div",
    { class: "waterfall-row waterfall-axis", "aria-hidden": "true" },
    el("span", {}),
    el(
      "div",
      { class: "lane" },
      steps.map((step) =>
        el("span", { class: "tick", style: { "--from": `${100 * step}%` } }, step ? seconds(step * scale.length) : "0"),
      ),
    ),
    el("span", {}),
  );
}

/** Whether torch's caches had it. */
function warmth(row) {
  if (!row.caches.length) return null;
  const hits = row.caches.filter(([, status]) => status === "hit").length;
  const card = () => row.caches.map(([cache, status]) => el("p", {}, `${cache}: ${status}`));
  if (hits) return badge("good", "warm", { card, label: "found in a cache" });
  return badge("plain", "cold", { card, label: "in no cache" });
}
