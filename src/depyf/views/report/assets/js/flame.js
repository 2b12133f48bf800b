// A flame graph: what Dynamo traced into, callers above what they call, as wide as it took.

import { el, svgEl } from "./dom.js";
import { seconds } from "./format.js";
import { entryChip } from "./told.js";

const WIDTH = 960; // a card of a window of 1280 pixels has room for it
const ROW = 18;
const NARROWEST_BOX = 1.5;

/** Boxes of a tree: [{call, x, width, depth}]; `calls` are [depth, function, place, line, times, seconds], callers first. */
export function flameBoxes(calls, width = WIDTH) {
  const whole = calls[0]?.[5] || 0;
  if (!whole) return [];
  const scale = width / whole;
  const next = [0];
  const boxes = [];
  for (const call of calls) {
    const [depth, , , , , spent] = call;
    const x = next[depth] ?? 0;
    next[depth] = x + spent * scale;
    next[depth + 1] = x;
    next.length = depth + 2;
    if (spent * scale >= NARROWEST_BOX) boxes.push({ call, x, width: spent * scale, depth });
  }
  return boxes;
}

export function flameGraph(tree, page) {
  const boxes = flameBoxes(tree.calls);
  if (!boxes.length) return null;
  const height = ROW * (1 + Math.max(...boxes.map((box) => box.depth)));
  return el(
    "figure",
    { class: "flame-graph" },
    el("figcaption", {}, el("code", {}, tree.function), " ", entryChip(page, { ...tree, state: "" })),
    el(
      "div",
      {
        class: "table-scroll",
        tabindex: "0",
        role: "region",
        "aria-label": `Flame graph of ${tree.function}, ${tree.id}`,
      },
      svgEl(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": "Flame graph" },
        boxes.map(flameBox),
      ),
    ),
  );
}

function flameBox({ call, x, width, depth }) {
  const [, name, place, line, times, spent] = call;
  const from = depth ? `, called from line ${line}` : "";
  const often = times > 1 ? `, ${times} times` : "";
  const fits = Math.floor(width / 7) - 1;
  return svgEl(
    "g",
    { class: place.includes("/torch/") ? "flame-torch" : "flame-own" },
    svgEl("title", {}, `${name} (${place})${from}${often}: ${seconds(spent)}`),
    svgEl("rect", { x: x.toFixed(1), y: depth * ROW, width: Math.max(0.5, width - 0.5).toFixed(1), height: ROW - 1 }),
    fits > 2
      ? svgEl(
          "text",
          { x: (x + 3).toFixed(1), y: depth * ROW + ROW - 6 },
          name.length > fits ? `${name.slice(0, fits - 1)}…` : name,
        )
      : null,
  );
}
