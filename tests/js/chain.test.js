// The relations between lines, and what two texts have in common.

import assert from "node:assert/strict";
import test from "node:test";

import {
  addressed,
  coloursOf,
  commonNumbers,
  inferredBecause,
  namesBetween,
  numbersAt,
  openedFirst,
  partsOfLine,
  relationsOf,
  relatives,
} from "../../src/depyf/views/report/assets/js/chain_relations.js";
import { changedStretches, commonLines, comparedText } from "../../src/depyf/views/report/assets/js/line_diff.js";
import { counterpart } from "../../src/depyf/views/report/assets/js/scroll_together.js";

const pane = (kind, direct, around = [], names = []) => ({
  kind,
  id: kind,
  title: kind,
  file: kind,
  shown: [],
  direct,
  around,
  names,
});
const compilation = {
  compile_id: "0/1",
  generation: 0,
  rank: "",
  sets: [[0], [1], [0, 1]],
  operations: [
    ["a", 0, 3],
    ["b", 0, 4],
  ],
  places: ["/p.py"],
  panes: [pane("source", [3, 0, 4, 1], [9, 2]), pane("kernel", [1, 2, 7, 0], [8, 2], [[1, "fused_0"]])],
};

test("a line lights what shares its numbers, and nothing else", () => {
  const relations = relationsOf(compilation);
  const found = relatives(relations, numbersAt(relations.panes[0], 4));
  assert.deepEqual(found, [
    { direct: [4], around: [9] },
    { direct: [1], around: [8] },
  ]);
  assert.deepEqual(namesBetween(relations, found), [[], ["fused_0"]]);
});

test("a line that is nothing itself leads to what it is around", () => {
  const relations = relationsOf(compilation);
  assert.deepEqual(relatives(relations, numbersAt(relations.panes[0], 9))[1].direct, [1, 7]);
  assert.deepEqual(relatives(relations, numbersAt(relations.panes[0], 1)), [
    { direct: [], around: [] },
    { direct: [], around: [] },
  ]);
});

test("of a pair only what both have lies between", () => {
  const relations = relationsOf(compilation);
  const both = commonNumbers(numbersAt(relations.panes[0], 3), numbersAt(relations.panes[1], 7));
  assert.deepEqual([...both], [0]);
  assert.equal(commonNumbers(numbersAt(relations.panes[0], 4), numbersAt(relations.panes[1], 7)).size, 0);
});

test("lines of one line of the program have one colour; a line of several has none", () => {
  const colours = coloursOf(relationsOf(compilation));
  assert.deepEqual(colours[0].slice(0, 2), [[3], [4]]);
  assert.deepEqual(colours[1].slice(0, 2), [[7], []]);
});

test("an address names a compilation, after a reset too, and of a rank", () => {
  const all = [compilation, { ...compilation, generation: 1 }, { ...compilation, rank: "rank_1" }];
  assert.deepEqual(addressed(all, ["0", "1", "kernel", "7"]), { index: 0, rest: ["kernel", "7"], lost: false });
  assert.deepEqual(addressed(all, ["0", "1r1"]), { index: 1, rest: [], lost: false });
  assert.deepEqual(addressed(all, ["rank_1", "0", "1", "x"]), { index: 2, rest: ["x"], lost: false });
  assert.deepEqual(addressed(all, ["9", "9"]), { index: 0, rest: [], lost: true });
  assert.deepEqual(partsOfLine(all[1], all[1].panes[0], 3), ["0", "1r1", "source", 3]);
  assert.deepEqual(partsOfLine(all[2], all[2].panes[0], 3), ["chain", "rank_1", "0", "1", "source", 3]);
});

test("what is opened first has a graph, where there is one", () => {
  const wrapper = { panes: [pane("transformed", [])] };
  const compiled = { panes: [pane("transformed", []), pane("captured", [])] };
  assert.equal(openedFirst([wrapper, compiled, compiled]), 1);
  assert.equal(openedFirst([wrapper, wrapper]), 0);
  assert.deepEqual(addressed([wrapper, compiled], []), { index: 1, rest: [], lost: false });
});

test("common lines are a longest common subsequence", () => {
  const one = ["a", "b", "c", "x", "d"];
  const other = ["a", "c", "y", "d", "e"];
  const pairs = commonLines(one, other);
  assert.deepEqual(pairs, [
    [0, 0],
    [2, 1],
    [4, 3],
  ]);
  assert.deepEqual(changedStretches(pairs, [5, 5]), [
    { one: [1, 2], other: [1, 1] },
    { one: [3, 4], other: [2, 3] },
    { one: [5, 5], other: [4, 5] },
  ]);
});

test("the same, empty and wholly different texts", () => {
  assert.deepEqual(changedStretches(commonLines(["a"], ["a"]), [1, 1]), []);
  assert.deepEqual(changedStretches(commonLines([], ["a"]), [0, 1]), [{ one: [0, 0], other: [0, 1] }]);
  const numbers = (from) => Array.from({ length: 3000 }, (_, index) => String(index + from));
  assert.deepEqual(commonLines(numbers(0), numbers(9000)), [], "it gives up in the end");
});

test("common lines are really common, in order, for random texts", () => {
  let seed = 7;
  const next = (most) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
  for (let round = 0; round < 200; round += 1) {
    const [one, other] = [next(30), next(30)].map((size) => Array.from({ length: size }, () => "abcde"[next(5)]));
    let last = [-1, -1];
    for (const [a, b] of commonLines(one, other)) {
      assert.equal(one[a], other[b]);
      assert.ok(a > last[0] && b > last[1]);
      last = [a, b];
    }
  }
});

test("ids in names are no difference", () => {
  assert.equal(comparedText("  __compiled_fn_0_1(x)"), comparedText("  __compiled_fn_0_2r1(x)".replace("r1", "")));
  assert.equal(comparedText("# Compile id 0/1: the graph"), "#");
});

test("a position in one text has its place in the other", () => {
  const pairs = [
    [0, 0],
    [1, 1],
    [2, 12],
    [3, 13],
  ];
  const at = (side, position) => counterpart(pairs, [5, 15], side, position);
  assert.equal(at(0, 1), 1);
  assert.equal(at(0, 2.5), 12.5);
  assert.equal(at(1, 12), 2);
  assert.ok(at(1, 6) > 1 && at(1, 6) < 2, "ten lines that only the second one has pass while the first one stands");
  assert.equal(at(0, 4), 14);
  assert.equal(counterpart([], [10, 20], 0, 4.5), 9.5, "nothing in common");
});

test("a cache is named only where one had the compilation", () => {
  assert.match(inferredBecause({ cached: true }), /^A cache of torch had this compilation/);
  assert.doesNotMatch(inferredBecause({ cached: false }), /cache/);
  assert.doesNotMatch(inferredBecause({}), /cache/);
});
