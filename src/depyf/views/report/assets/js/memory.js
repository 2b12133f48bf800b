// What training keeps for the backward, by line, and what Inductor's code allocates at once.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { bytes, compileId, count } from "./format.js";
import { dataTable } from "./table.js";
import { entryChip, placeLink } from "./told.js";

export function showMemory(container, data, page) {
  const training = data.graphs.filter((graph) => graph.kept);
  const largest = Math.max(1, ...training.map((graph) => graph.kept.bytes));
  fill(
    container,
    el(
      "p",
      { class: "lead" },
      training.length
        ? "What the forward of each graph keeps until its backward has run, and the most that Inductor's code has allocated at once. Parameters and inputs are not counted: the program holds them anyway."
        : "The most that Inductor's code has allocated at once. No graph of this run was trained.",
    ),
    dataTable({
      caption: "Memory of the graphs",
      columns: [
        {
          title: "Function",
          cell: (row) => [el("code", {}, row.function ?? ""), " ", entryChip(page, graphChip(row))],
        },
        {
          title: "Kept for the backward",
          cell: (row) =>
            row.kept
              ? el(
                  "span",
                  { class: "measured" },
                  el("span", { class: "meter", style: { "--share": `${(100 * row.kept.bytes) / largest}%` } }),
                  bytes(row.kept.bytes),
                )
              : el("span", { class: "muted" }, "no backward"),
          sort: (row) => row.kept?.bytes ?? -1,
          number: true,
        },
        { title: "Computed again", cell: (row) => againCell(row), sort: (row) => againBytes(row), number: true },
        {
          title: "Peak of the forward",
          cell: (row) => peakCell(row.forward),
          sort: (row) => row.forward?.peak ?? -1,
          number: true,
        },
        {
          title: "Of the backward",
          cell: (row) => peakCell(row.backward),
          sort: (row) => row.backward?.peak ?? -1,
          number: true,
        },
      ],
      rows: data.graphs,
    }),
    training.map((graph, index) => keptCard(graph, page, index === 0)),
  );
}

function graphChip(graph) {
  return { id: graph.compile_id, generation: graph.generation, state: "" };
}

function againBytes(row) {
  return row.kept ? row.kept.computed_again.reduce((sum, line) => sum + line.bytes, 0) : -1;
}

function againCell(row) {
  const sum = againBytes(row);
  return sum > 0 ? bytes(sum) : el("span", { class: "muted" }, "–");
}

function peakCell(plan) {
  if (!plan) return el("span", { class: "muted" }, "–");
  return el("span", { title: count(plan.buffers, "buffer") }, bytes(plan.peak));
}

/** Tensors that take memory, by line of the program, the largest first: [{at, line, bytes, tensors}]. */
export function byLine(tensors) {
  const lines = new Map();
  for (const tensor of tensors.filter(({ kind }) => kind === "computed")) {
    const key = tensor.at ?? "";
    if (!lines.has(key)) lines.set(key, { at: tensor.at ?? "", line: tensor.line ?? "", bytes: 0, tensors: [] });
    const found = lines.get(key);
    found.bytes += tensor.bytes ?? 0;
    found.tensors.push(tensor);
  }
  return [...lines.values()].sort((one, other) => other.bytes - one.bytes);
}

function keptCard(graph, page, open) {
  const lines = byLine(graph.kept.tensors);
  const most = Math.max(1, ...lines.map((line) => line.bytes));
  const others = graph.kept.tensors.filter(({ kind }) => kind !== "computed");
  const sizes = Object.entries(graph.sizes ?? {});
  return el(
    "details",
    { class: "card matrix-card", open },
    el(
      "summary",
      { class: "card-head" },
      el("h2", {}, el("code", {}, graph.function ?? ""), ` ${compileId(graph.compile_id, graph.generation)}`),
      badge("kernels", bytes(graph.kept.bytes)),
    ),
    sizes.length
      ? el("p", { class: "muted" }, "For ", sizes.map(([name, value]) => `${name} = ${value}`).join(", "), ".")
      : null,
    el(
      "ul",
      { class: "kept-lines" },
      lines.map((line) =>
        el(
          "li",
          {},
          el("span", { class: "kept-bytes" }, bytes(line.bytes)),
          el("span", { class: "meter", style: { "--share": `${(100 * line.bytes) / most}%` } }),
          el(
            "span",
            { class: "kept-place" },
            line.at ? placeLink(page, line.at, line.line) : el("span", { class: "muted" }, "of no line"),
          ),
          el(
            "span",
            { class: "muted mono kept-tensors" },
            line.tensors
              .slice(0, 3)
              .map((tensor) => `${tensor.name} ${tensor.type}`)
              .join(", ") + (line.tensors.length > 3 ? ` and ${line.tensors.length - 3} more` : ""),
          ),
        ),
      ),
    ),
    others.length
      ? el(
          "p",
          { class: "muted" },
          `The backward also uses ${count(others.filter(({ kind }) => kind === "given").length, "parameter or input", "parameters or inputs")} (${bytes(graph.kept.given_bytes)}), which the program holds anyway, and ${count(
            others.filter(({ kind }) => kind !== "given").length,
            "view",
          )} of the tensors above.`,
        )
      : null,
    graph.kept.computed_again.length
      ? [
          el("h3", {}, "Computed again in the backward, so not kept"),
          el(
            "ul",
            { class: "plain-list" },
            graph.kept.computed_again.map((line) =>
              el(
                "li",
                {},
                line.at ? placeLink(page, line.at, line.line ?? "") : null,
                el("span", { class: "muted" }, ` ${line.operators.join(", ")} · ${bytes(line.bytes)}`),
              ),
            ),
          ),
        ]
      : null,
  );
}
