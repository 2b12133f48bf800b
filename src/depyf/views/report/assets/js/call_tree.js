// Which call led to which compilation.

import { el, fill } from "./dom.js";
import { count } from "./format.js";
import { entryChips, functionName, placeLink } from "./told.js";

export function showCallTree(container, data, page) {
  const below = new Map();
  data.nodes.forEach((node, index) => {
    if (!below.has(node.above)) below.set(node.above, []);
    below.get(node.above).push(index);
  });

  function listOf(above, depth) {
    const own = below.get(above) ?? [];
    if (!own.length) return null;
    return el(
      "ul",
      { class: "tree", role: depth ? "group" : "tree", "aria-label": depth ? null : "Call tree" },
      own.map((index) => itemOf(index, depth)),
    );
  }

  function itemOf(index, depth) {
    const node = data.nodes[index];
    const inner = depth < 60 ? listOf(index, depth + 1) : null;
    return el(
      "li",
      { class: node.after === undefined ? "tree-node" : "tree-node tree-rest", role: "treeitem" },
      el(
        "div",
        { class: "tree-line" },
        node.after === undefined
          ? [functionName(node), placeLink(page, node.at)]
          : el("span", { class: "muted" }, "after the break at ", placeLink(page, node.at)),
        node.entries.length
          ? entryChips(page, node.entries)
          : el("span", { class: "muted" }, "compiled for another call"),
        node.calls.length ? el("span", { class: "muted tree-call" }, `${node.by} at `, callsOf(node.calls)) : null,
      ),
      inner,
    );
  }

  function callsOf(calls) {
    if (calls.length === 1) return placeLink(page, calls[0].at, calls[0].line);
    return [
      calls.slice(0, 4).map(({ at }, index) => [index ? ", " : "", placeLink(page, at)]),
      calls.length > 4 ? ` and ${count(calls.length - 4, "more line")}` : "",
    ];
  }

  fill(
    container,
    el(
      "p",
      { class: "lead" },
      "Compiled functions under the calls that led to them. After a graph break the rest of a function is compiled as one more function, which stands below it.",
    ),
    el("div", { class: "card" }, listOf(-1, 0)),
  );
}
