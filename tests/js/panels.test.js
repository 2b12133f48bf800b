import assert from "node:assert/strict";
import { test } from "node:test";

import {
  drawnGraph,
  graphNodes,
  groupsAround,
  groupsOf,
  openedAtFirst,
  operationOf,
} from "../../src/depyf/views/report/assets/js/graph_text.js";
import { alikeGuards, spelledGuard } from "../../src/depyf/views/report/assets/js/guards.js";
import { extentOf } from "../../src/depyf/views/report/assets/js/graphs.js";
import { flameBoxes } from "../../src/depyf/views/report/assets/js/flame.js";
import { byLine } from "../../src/depyf/views/report/assets/js/memory.js";
import { ranksVerdict } from "../../src/depyf/views/report/assets/js/ranks.js";
import { foldedRows, reasonsOf } from "../../src/depyf/views/report/assets/js/recompilations.js";
import { kindOf, piecesOfSpans, scaleOf, timesByKind } from "../../src/depyf/views/report/assets/js/timeline.js";
import { chainOf, placeName } from "../../src/depyf/views/report/assets/js/told.js";

const GRAPH = `# Compile id 0/0
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 8][8, 1]cpu", L_w_: "f32[8][1]cpu"):
        l_x_ = L_x_

        # File: /m/a.py:3 in forward, code: h = x @ w
        h: "f32[4][1]cpu" = torch.ops.aten.mv.default(l_x_, L_w_);  l_x_ = None
        # File: /m/a.py:4 in forward, code: return 'h' + h.sum()
        total: "f32[][]cpu" = h.sum()
        other: "f32[][]cpu" = h + total;  h = total = None
        return (other,)


if __name__ == "__main__":
    inputs = [1]
    print(GraphModule()(*inputs))`.split("\n");

test("a printed graph is read as nodes and their uses", () => {
  const nodes = graphNodes(GRAPH);
  assert.deepEqual(
    nodes.map(({ name, op, uses }) => [name, op, uses]),
    [
      ["L_x_", "input", []],
      ["L_w_", "input", []],
      ["h", "mv", [0, 1]],
      ["total", "sum", [2]],
      ["other", "+", [2, 3]],
      ["output", "output", [4]],
    ],
  );
  assert.equal(nodes[2].at, "/m/a.py:3");
  assert.equal(nodes[2].line, 7);
  assert.equal(nodes[2].type, "f32[4][1]cpu");
  assert.deepEqual(graphNodes(["nothing here"]), []);
});

test("arguments that arrive as a list are inputs, too", () => {
  const nodes = graphNodes([
    "    def forward(self, args_list):",
    "        args_iter = iter(args_list)",
    '        primals_1: "f32[2]" = next(args_iter)',
    "        args_list.clear()",
    "        neg = torch.ops.aten.neg.default(primals_1);  primals_1 = None",
    "        return [neg]",
  ]);
  assert.deepEqual(
    nodes.map(({ name, op }) => [name, op]),
    [
      ["primals_1", "input"],
      ["neg", "neg"],
      ["output", "output"],
    ],
  );
});

test("operations have the names that people know", () => {
  assert.equal(operationOf("torch._C._nn.linear(a, b)"), "linear");
  assert.equal(operationOf("torch.ops.aten.mul.Tensor(a, 2)"), "mul");
  assert.equal(operationOf("a @ b"), "@");
  assert.equal(operationOf("a[0]"), "[0]");
  assert.equal(operationOf("a.contiguous()"), "contiguous");
});

test("a closed group is one box, an opened one its nodes", () => {
  const nodes = graphNodes(GRAPH);
  const groups = groupsOf(nodes, [
    ["self.l", "Linear", [[7, 10]]],
    ["self.l.add", "Add", [[9, 10]]],
  ]);
  const around = groupsAround(nodes, groups);
  const none = new Set();
  const ids = (open) => drawnGraph(nodes, groups, around, open, none).boxes.map(({ id }) => id);
  assert.deepEqual(ids(none), ["n0", "n1", "g0", "n5"]);
  assert.deepEqual(ids(new Set([0])), ["n0", "n1", "n2", "g1", "n5"]);
  assert.deepEqual(drawnGraph(nodes, groups, around, none, none).edges, [
    ["n0", "g0"],
    ["n1", "g0"],
    ["g0", "n5"],
  ]);
  assert.deepEqual([...openedAtFirst(nodes, groups, around, 100)], [0, 1]);
  assert.deepEqual([...openedAtFirst(nodes, groups, around, 5)], [0]);
});

test("without modules a graph folds by the lines of the program", () => {
  const nodes = graphNodes(GRAPH);
  assert.deepEqual(
    groupsOf(nodes, []).map(({ title, size }) => [title, size]),
    [["a.py:4", 2]],
  );
});

test("guards that differ in numbers are alike", () => {
  const guards = ["n == 1", "n == 2", "m == 1"].map((expression) => ({ expression }));
  assert.deepEqual(
    alikeGuards(guards).map((group) => group.length),
    [2, 1],
  );
  assert.equal(spelledGuard("same_value(L['a'], 3)"), "L['a'] == 3");
  assert.equal(spelledGuard("type_is(L['a'], 'm.C')"), "type_is(L['a'], 'm.C')");
});

test("repeated rows are folded below the first, reasons have letters", () => {
  const rows = [{ same: false }, { same: true }, { same: true }, { same: false }];
  assert.deepEqual(
    foldedRows(rows).map((group) => group.length),
    [3, 1],
  );
  const guards = [
    { guard: "n == 1", at: "a.py:1" },
    { guard: "n == 2", at: "a.py:1" },
    { guard: "n == 2", at: "a.py:9" },
  ];
  assert.deepEqual(
    reasonsOf(guards).map(({ letter, numbers }) => [letter, numbers]),
    [
      ["A", [0, 1]],
      ["B", [2]],
    ],
  );
});

const NAMES = ["dynamo", "backend_compile", "compile_file"];
const SPANS = [
  [0, 1, 10, 0, 0],
  [1, 2, 6, 1, 0],
  [2, 3, 4, 2, 0],
  [2, 0, 99, 0, 1],
];

test("time counts once, for the innermost phase", () => {
  assert.deepEqual(
    [...timesByKind(SPANS, NAMES)],
    [
      ["dynamo", 4],
      ["autograd", 2],
      ["compiler", 4],
    ],
  );
  assert.deepEqual(piecesOfSpans(SPANS, NAMES), [
    [1, 1, "dynamo"],
    [2, 1, "autograd"],
    [3, 4, "compiler"],
    [7, 1, "autograd"],
    [8, 3, "dynamo"],
  ]);
  assert.equal(kindOf("something new"), "other");
});

test("time in which the program ran takes no room where only compiling is shown", () => {
  const rows = [
    { start: 2, end: 4 },
    { start: 3, end: 5 },
    { start: 9, end: 10 },
  ];
  const packed = scaleOf(rows, true);
  assert.equal(packed.length, 4);
  assert.deepEqual([2, 5, 9, 10].map(packed.at), [0, 75, 75, 100]);
  assert.deepEqual([0, 5, 10].map(scaleOf(rows, false).at), [0, 50, 100]);
});

test("memory is summed by line, without views and what is given", () => {
  const found = byLine([
    { kind: "computed", at: "a.py:1", bytes: 10 },
    { kind: "computed", at: "a.py:2", bytes: 30 },
    { kind: "computed", at: "a.py:1", bytes: 5 },
    { kind: "given", at: "a.py:1", bytes: 999 },
    { kind: "computed", bytes: null },
  ]);
  assert.deepEqual(
    found.map(({ at, bytes }) => [at, bytes]),
    [
      ["a.py:2", 30],
      ["a.py:1", 15],
      ["", 0],
    ],
  );
});

test("a place is the last part of its path", () => {
  assert.equal(placeName("/a/b/train.py:45"), "train.py:45");
  assert.equal(placeName("C:\\x\\train.py:45"), "train.py:45");
  assert.equal(placeName("/a/pkg/__init__.py:1"), "pkg/__init__.py:1");
  assert.equal(placeName("<string>"), "<string>");
});

test("a compilation leads to its chain, where the page has one", () => {
  const page = { panels: [{ id: "chain" }], href: (...parts) => parts.join("/") };
  assert.equal(chainOf(page, { id: "0/1" }, "Forward_graph", 12), "0/1/Forward_graph/12");
  assert.equal(chainOf(page, { id: "0/1", generation: 2 }), "0/1r2");
  assert.equal(chainOf({ ...page, panels: [] }, { id: "0/1" }), null);
});

test("the ranks of logs are named by their groups", () => {
  const usual = { ranks: "ranks 0-6, 8-23", count: 23, since: "", shown: 0 };
  const data = { count: 24, ranks: [{ rank: 0 }], functions: [], collectives: [], apart: [], waits: [] };
  assert.equal(
    ranksVerdict({ ...data, groups: [{ ...usual, ranks: "ranks 0-23", count: 24 }] }),
    "All 24 ranks have the same graphs and guards, devices apart.",
  );
  const other = { ranks: "rank 7", count: 1, since: "0/1, guards (line 3 of a.log)", shown: 7 };
  assert.equal(
    ranksVerdict({ ...data, groups: [usual, other] }),
    "24 ranks do not do the same: rank 7 differs from the others.",
  );
});

test("ranks do the same only where nothing of them diverges", () => {
  const alike = {
    ranks: [{ rank: 0 }, { rank: 1 }],
    functions: [{ differs: false }],
    collectives: [],
    apart: [{ rank: 1, equal: true }],
  };
  assert.match(ranksVerdict(alike), /^All ranks compiled the same/);
  const parted = { ...alike, apart: [{ rank: 1, equal: false }] };
  assert.equal(ranksVerdict(parted), "The ranks do not do the same: rank 1 diverges from rank 0.");
  const failed = { ...alike, apart: [{ rank: null, equal: false }] };
  assert.match(ranksVerdict(failed), /is not known/);
  const gone = {
    ...alike,
    functions: [{ differs: true }],
    apart: [
      { rank: 1, equal: false },
      { rank: 2, equal: false },
    ],
  };
  assert.equal(ranksVerdict(gone), "The ranks do not do the same: 1 function, ranks 1, 2 diverge from rank 0.");
});

test("a flame graph has callees below their callers, side by side", () => {
  const calls = [
    [0, "f", "a.py:1", 0, 1, 4],
    [1, "g", "a.py:9", 3, 1, 3],
    [2, "h", "b.py:1", 10, 2, 2],
    [1, "k", "a.py:20", 4, 1, 1],
    [2, "h", "b.py:1", 21, 1, 0.5],
    [2, "tiny", "b.py:9", 22, 1, 0.00001],
  ];
  assert.deepEqual(
    flameBoxes(calls, 400).map(({ call, x, width, depth }) => [call[1], x, width, depth]),
    [
      ["f", 0, 400, 0],
      ["g", 0, 300, 1],
      ["h", 0, 200, 2],
      ["k", 300, 100, 1],
      ["h", 300, 50, 2],
    ],
  );
  assert.deepEqual(flameBoxes([]), []);
});

test("a drawn graph is as wide as its edges reach, too", () => {
  const graph = (points) => ({
    graph: () => ({ width: 100 }),
    edges: () => points.map((_, index) => index),
    edge: (index) => ({ points: points[index].map((x) => ({ x, y: 0 })) }),
  });
  assert.deepEqual(extentOf(graph([[20, 50], [80]])), { left: 0, width: 100 });
  assert.deepEqual(extentOf(graph([[20, -12, 50], [130]])), { left: -26, width: 170 });
  assert.deepEqual(extentOf(graph([])), { left: 0, width: 100 });
});
