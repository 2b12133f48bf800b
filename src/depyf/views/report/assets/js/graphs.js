// A graph as a picture, drawn when it is asked for; large ones are folded by module.

import { graphlib, layout as placed } from "@dagrejs/dagre";

import { el, fill, svgEl } from "./dom.js";
import { compileId, count } from "./format.js";
import { drawnGraph, graphNodes, groupsAround, groupsOf, openedAtFirst } from "./graph_text.js";
import { hoverCard } from "./hover.js";
import { shortened } from "./routes.js";
import { chainOf, placeLink } from "./told.js";

const MOST_AT_FIRST = 60;
const MOST_DRAWN = 300;
const MOST_ENDS = 12;
const MARGIN = 14;
const WEIGHTS = /(?:parameters|buffers)_|^primals_|_weight_?$|_bias_?$/;
const HEAVY = /linear|addmm|^mm$|bmm|conv|attention|matmul|einsum|baddbmm|^@$/;
const COMMUNICATES = /all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|wait_tensor/;

export function showGraphs(container, data, page) {
  const choice = el(
    "select",
    { "aria-label": "Graph", onchange: () => page.go("graphs", data.graphs[choice.value].file) },
    data.graphs.map((graph, index) =>
      el(
        "option",
        { value: index },
        `${compileId(graph.id, graph.generation)}  ${graph.function}  ${graph.stage}${graph.index ? ` ${graph.index}` : ""}  (${count(graph.operations, "operation")})`,
      ),
    ),
  );
  const weights = toggle("all ends", "Show parameters, buffers and all that is returned, too", () => draw());
  const zoomOut = el(
    "button",
    { class: "button", type: "button", "aria-label": "smaller", onclick: () => zoom(0.8) },
    "−",
  );
  const zoomIn = el(
    "button",
    { class: "button", type: "button", "aria-label": "larger", onclick: () => zoom(1.25) },
    "+",
  );
  const openAll = el("button", { class: "button", type: "button", onclick: () => openEvery(true) }, "open all");
  const foldAll = el("button", { class: "button", type: "button", onclick: () => openEvery(false) }, "fold all");
  const said = el("span", { class: "muted", role: "status" });
  const picture = el("div", { class: "card picture", tabindex: "0", role: "region", "aria-label": "Graph" });
  let graph = null;
  let nodes = [];
  let groups = [];
  let around = [];
  let open = new Set();
  let scale = 1;
  let size = null;

  function toggle(text, title, act) {
    return el(
      "button",
      {
        class: "button",
        type: "button",
        "aria-pressed": "false",
        title,
        onclick: (event) => {
          const button = event.currentTarget;
          button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
          act();
        },
      },
      text,
    );
  }

  async function show(index) {
    graph = data.graphs[index];
    choice.value = String(index);
    const file = page.file(graph.file);
    if (!file) return fill(picture, el("p", { class: "empty" }, "The file of this graph is missing."));
    const lines = await page.linesOf(file);
    nodes = graphNodes(lines.map(([text]) => text));
    groups = groupsOf(nodes, graph.layers);
    around = groupsAround(nodes, groups);
    open = openedAtFirst(nodes, groups, around, MOST_AT_FIRST);
    return draw(true);
  }

  function openEvery(all) {
    open = all ? new Set(groups.keys()) : new Set();
    draw(true);
  }

  function zoom(by) {
    scale = Math.min(2.5, Math.max(0.15, scale * by));
    resize();
  }

  function resize() {
    const svg = picture.querySelector("svg");
    if (!svg || !size) return;
    svg.setAttribute("width", size.width * scale);
    svg.setAttribute("height", size.height * scale);
  }

  function draw(fit = false) {
    const keep = weights.getAttribute("aria-pressed") === "true";
    const inputs = [...nodes.keys()].filter((at) => nodes[at].op === "input");
    const unseen = inputs.filter((at) => inputs.length > MOST_ENDS || WEIGHTS.test(nodes[at].name));
    if ((nodes.at(-1)?.uses.length ?? 0) > MOST_ENDS) unseen.push(nodes.length - 1);
    const hidden = new Set(keep ? [] : unseen);
    weights.hidden = !keep && hidden.size === 0;
    const drawn = drawnGraph(nodes, groups, around, open, hidden);
    openAll.hidden = foldAll.hidden = groups.length === 0;
    const folded = drawn.boxes.filter((box) => box.group).length;
    fill(said, `${count(drawn.boxes.length, "box", "boxes")}${folded ? `, ${folded} folded: click to open` : ""}`);
    if (!nodes.length) return fill(picture, el("p", { class: "empty" }, "Nothing to draw in this file."));
    if (drawn.boxes.length > MOST_DRAWN)
      return fill(
        picture,
        el(
          "p",
          { class: "empty" },
          `${drawn.boxes.length} boxes are too many to look at: fold some, or look at the captured graph, which folds by module.`,
        ),
      );
    const before = [picture.scrollLeft, picture.scrollTop];
    const { svg, ...extent } = pictureOf(drawn);
    size = extent;
    if (fit) scale = Math.min(1, Math.max(0.6, (picture.clientWidth - 24) / size.width));
    fill(picture, svg);
    resize();
    if (fit) [picture.scrollLeft, picture.scrollTop] = [size.start * scale - picture.clientWidth / 2, 0];
    else [picture.scrollLeft, picture.scrollTop] = before;
    return null;
  }

  function pictureOf({ boxes, edges }) {
    const layout = new graphlib.Graph();
    layout.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 30, marginx: MARGIN, marginy: MARGIN });
    layout.setDefaultEdgeLabel(() => ({}));
    for (const box of boxes) {
      const [title, note] = textsOf(box);
      const width = Math.max(56, title.length * 7.6 + 26, note.length * 6.1 + 26);
      layout.setNode(box.id, { width: Math.min(width, 290), height: note ? 40 : 28 });
    }
    for (const [from, to] of edges) layout.setEdge(from, to);
    placed(layout);
    const { height } = layout.graph();
    const { left, width } = extentOf(layout);
    const svg = svgEl(
      "svg",
      { viewBox: `${left} 0 ${width} ${height}`, role: "group", "aria-label": `Graph of ${graph.function}` },
      svgEl(
        "defs",
        {},
        svgEl(
          "marker",
          { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
          svgEl("path", { d: "M0 0.8 8 4 0 7.2Z", class: "arrow-head" }),
        ),
      ),
      layout
        .edges()
        .map((edge) =>
          svgEl("path", { d: curveOf(layout.edge(edge).points), class: "graph-edge", "marker-end": "url(#arrow)" }),
        ),
      boxes.map((box) => drawBox(box, layout.node(box.id))),
    );
    return { svg, width, height, start: layout.node(boxes[0].id).x - left };
  }

  function drawBox(box, { x, y, width, height }) {
    const [title, note] = textsOf(box);
    const kind = kindOfBox(box);
    const shape = [
      svgEl("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: kind === "io" ? height / 2 : 6 }),
      svgEl("text", { x, y: note ? y - 2 : y + 4, class: "box-title" }, cutText(title, 36)),
      note ? svgEl("text", { x, y: y + 13, class: "box-note" }, cutText(note, 44)) : null,
    ];
    const attributes = { class: `graph-box box-${kind}` };
    let element;
    if (box.group) {
      const unfold = () => {
        open.add(box.index);
        draw();
      };
      element = svgEl(
        "g",
        {
          ...attributes,
          role: "button",
          tabindex: "0",
          "aria-label": `${title} ${note ?? ""}, open`,
          onclick: unfold,
          onkeydown: (event) => event.key === "Enter" && unfold(),
        },
        shape,
      );
    } else {
      const href = chainOf(page, graph, graph.stage, box.node.line) ?? page.href("files", graph.file, box.node.line);
      element = svgEl("a", { ...attributes, href, "aria-label": `${title} ${note ?? ""}` }, shape);
    }
    return hoverCard(element, () => cardOf(box));
  }

  function cardOf(box) {
    if (box.group)
      return [
        el("p", {}, el("b", {}, box.group.title), box.group.note ? ` ${box.group.note}` : ""),
        el("p", { class: "muted" }, `${count(box.count, "operation")}: ${summaryOf(box.nodes)}`),
      ];
    const { node } = box;
    return [
      el("p", {}, el("code", {}, node.text || node.name)),
      node.type ? el("p", { class: "mono muted" }, node.type) : null,
      node.at ? el("p", {}, placeLink(page, node.at, node.code)) : null,
    ];
  }

  container.append(el("div", { class: "toolbar" }, choice, weights, zoomOut, zoomIn, openAll, foldAll, said), picture);
  const first = data.graphs.findIndex(({ stage }) => stage === "Captured_Graph");
  show(Math.max(0, first));
  return {
    async open([file]) {
      const index = data.graphs.findIndex((found) => found.file === file);
      if (index >= 0) await show(index);
      return { missing: index >= 0 || file === undefined ? "" : `the graph ${shortened(file)}` };
    },
  };
}

function textsOf(box) {
  if (box.group)
    return [box.group.title, `${box.group.note ? `${box.group.note} · ` : ""}${count(box.count, "operation")}`];
  const { node } = box;
  if (node.op === "output") return ["output", ""];
  if (node.op === "input") return [node.name, shortType(node.type)];
  return [node.op, shortType(node.type)];
}

/** `f32[4, 32]` of `f32[4, 32][32, 1]cpu`. */
function shortType(type) {
  return type.match(/^[^[]*\[[^\]]*\]/)?.[0] ?? type;
}

function kindOfBox(box) {
  if (box.group) return "group";
  const { op } = box.node;
  if (op === "input" || op === "output") return "io";
  if (COMMUNICATES.test(op)) return "sent";
  return HEAVY.test(op) ? "heavy" : "plain";
}

function summaryOf(nodes) {
  const counts = new Map();
  for (const { op } of nodes) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts]
    .sort((one, other) => other[1] - one[1])
    .slice(0, 6)
    .map(([op, number]) => (number > 1 ? `${number} ${op}` : op))
    .join(", ");
}

/** How far a laid out graph reaches: dagre's own width has the boxes, and an edge may run beside them. */
export function extentOf(layout) {
  const along = layout.edges().flatMap((edge) => layout.edge(edge).points.map(({ x }) => x));
  const left = Math.min(0, ...along.map((x) => x - MARGIN));
  return { left, width: Math.max(layout.graph().width, ...along.map((x) => x + MARGIN)) - left };
}

function curveOf(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let at = 0; at < rest.length - 1; at += 1) {
    const { x, y } = rest[at];
    const next = rest[at + 1];
    path +=
      at === rest.length - 2
        ? ` Q${x} ${y} ${next.x} ${next.y}`
        : ` Q${x} ${y} ${(x + next.x) / 2} ${(y + next.y) / 2}`;
  }
  return rest.length === 1 ? `${path} L${rest[0].x} ${rest[0].y}` : path;
}

function cutText(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
