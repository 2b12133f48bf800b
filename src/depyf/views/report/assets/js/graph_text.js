// A printed graph as nodes and edges, and its modules as groups that can be folded.

const STATEMENT = /^( +)([A-Za-z_]\w*)(?:: "([^"]*)")? = (.+)$/;
const PLACE = /^ *# ?(?:.*? )?File: (.+?):(\d+) in [^,]+(?:, code: (.*))?$/;
const NAME = /[A-Za-z_]\w*/g;

/**
 * The nodes of the first `forward` in the lines of a file: `{name, op, type, uses, line, at, code, text}`, uses by position;
 * `op` is "input" for what the graph is given, "output" for what it returns.
 */
export function graphNodes(lines) {
  const nodes = [];
  const known = new Map();
  let at = "";
  let code = "";
  let indent = null;
  const begin = lines.findIndex((line) => /^ *def forward\(/.test(line));
  if (begin < 0) return nodes;
  for (const [, name, type] of lines[begin].matchAll(/[(,] *([A-Za-z_]\w*)(?:: "([^"]*)")?(?=[,)])/g))
    if (name !== "self" && name !== "args_list")
      add({ name, op: "input", type: type ?? "", uses: [], line: begin + 1, at: "", code: "", text: "" });

  function add(node) {
    known.set(node.name, nodes.length);
    nodes.push(node);
  }

  function usesOf(text) {
    const bare = text.replace(/'(?:[^'\\]|\\.)*'/g, "''");
    const found = [];
    for (const match of bare.matchAll(NAME))
      if (known.has(match[0]) && bare[match.index - 1] !== ".") found.push(known.get(match[0]));
    return [...new Set(found)];
  }

  for (let number = begin + 1; number < lines.length; number += 1) {
    const line = lines[number];
    const place = line.match(PLACE);
    if (place) [at, code] = [`${place[1]}:${place[2]}`, place[3] ?? ""];
    const returned = line.match(/^( +)return (.*)$/);
    if (returned && (indent === null || returned[1].length === indent)) {
      add({
        name: "output",
        op: "output",
        type: "",
        uses: usesOf(returned[2].split(";  ")[0]),
        line: number + 1,
        at: "",
        code: "",
        text: line.trim(),
      });
      break;
    }
    const match = line.match(STATEMENT);
    if (!match || (indent !== null && match[1].length !== indent)) continue;
    indent ??= match[1].length;
    const value = match[4].split(/;  (?:\w+ = )+None/)[0];
    if (/^\w+$/.test(value) && known.has(value)) known.set(match[2], known.get(value));
    else if (value === "next(args_iter)")
      add({
        name: match[2],
        op: "input",
        type: match[3] ?? "",
        uses: [],
        line: number + 1,
        at: "",
        code: "",
        text: "",
      });
    else if (value !== "iter(args_list)")
      add({
        name: match[2],
        op: operationOf(value),
        type: match[3] ?? "",
        uses: usesOf(value),
        line: number + 1,
        at,
        code,
        text: `${match[2]} = ${value}`,
      });
  }
  return nodes;
}

/** `linear` of `torch._C._nn.linear(…)`, `mul` of `torch.ops.aten.mul.Tensor(…)`, `+` of `a + b`, `[0]` of `a[0]`. */
export function operationOf(value) {
  const call = value.match(/^([\w.]+)\(/);
  if (call) {
    const parts = call[1].split(".");
    if (parts[0] === "torch" && parts[1] === "ops" && parts.length > 3) return parts[3];
    return parts.at(-1);
  }
  const item = value.match(/^\w+(\[[^\]]*\])$/);
  if (item) return item[1].length <= 12 ? item[1] : "[…]";
  const operator = value.match(/^-?[\w.]+ ([-+*/@%<>=!&|^~]+) /);
  if (operator) return operator[1];
  const attribute = value.match(/^\w+(?:\.\w+)+$/);
  return attribute ? value.split(".").at(-1) : value.slice(0, 14);
}

/** Groups of a graph: its modules (`[path, class, [[first, last], …]]`), or without any, what one line of the program does. */
export function groupsOf(nodes, layers) {
  if (layers.length)
    return layers.map(([path, cls, ranges]) => ({
      title: path,
      note: cls,
      ranges,
      size: ranges.reduce((sum, [a, b]) => sum + b - a + 1, 0),
    }));
  const groups = [];
  for (const node of nodes) {
    if (!node.at) continue;
    const last = groups.at(-1);
    if (last?.at === node.at) last.ranges[0][1] = node.line;
    else
      groups.push({
        title: node.at.replace(/^.*[\\/]/, ""),
        note: node.code,
        at: node.at,
        ranges: [[node.line, node.line]],
      });
  }
  return groups
    .map((group) => ({
      ...group,
      size: nodes.filter(({ line }) => line >= group.ranges[0][0] && line <= group.ranges[0][1]).length,
    }))
    .filter((group) => group.size > 1);
}

/** For each node the groups around it, the outermost first. */
export function groupsAround(nodes, groups) {
  const bySize = groups.map((group, index) => ({ ...group, index })).sort((one, other) => other.size - one.size);
  return nodes.map((node) =>
    node.op === "input" || node.op === "output"
      ? []
      : bySize
          .filter((group) => group.ranges.some(([first, last]) => node.line >= first && node.line <= last))
          .map(({ index }) => index),
  );
}

/**
 * What is drawn while the groups in `open` are open: `{boxes, edges}`; a box is `{id, node}` or `{id, group, count}`.  `hidden`:
 * positions of nodes that are left out.
 */
export function drawnGraph(nodes, groups, around, open, hidden) {
  const boxes = new Map();
  const boxOf = nodes.map((node, position) => {
    if (hidden.has(position)) return null;
    const closed = around[position].find((group) => !open.has(group));
    const id = closed === undefined ? `n${position}` : `g${closed}`;
    if (!boxes.has(id))
      boxes.set(
        id,
        closed === undefined ? { id, node } : { id, group: groups[closed], index: closed, count: 0, nodes: [] },
      );
    if (closed !== undefined) {
      boxes.get(id).count += 1;
      boxes.get(id).nodes.push(node);
    }
    return id;
  });
  const edges = new Map();
  nodes.forEach((node, position) => {
    for (const use of node.uses) {
      const [from, to] = [boxOf[use], boxOf[position]];
      if (from && to && from !== to) edges.set(`${from} ${to}`, [from, to]);
    }
  });
  return { boxes: [...boxes.values()], edges: [...edges.values()] };
}

/** Which groups are open at first: as many levels as leave no more than `most` boxes. */
export function openedAtFirst(nodes, groups, around, most) {
  const all = new Set(groups.keys());
  if (nodes.length <= most) return all;
  let open = new Set();
  for (let level = 0; level < 8; level += 1) {
    const next = new Set([...open, ...around.map((found) => found[level]).filter((group) => group !== undefined)]);
    if (drawnGraph(nodes, groups, around, next, new Set()).boxes.length > most || next.size === open.size) break;
    open = next;
  }
  return open;
}
