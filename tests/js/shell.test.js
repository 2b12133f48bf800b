import assert from "node:assert/strict";
import { test } from "node:test";

import { highlighted, placesOf, textsWith } from "../../src/depyf/views/report/assets/js/finding.js";
import { bytes, compileId, count, seconds } from "../../src/depyf/views/report/assets/js/format.js";
import { addressOf, destination, partsOf } from "../../src/depyf/views/report/assets/js/routes.js";
import { compareValues } from "../../src/depyf/views/report/assets/js/table.js";
import { piecesOf } from "../../src/depyf/views/report/assets/js/tokens.js";

test("an address gives back the parts it was made of", () => {
  for (const parts of [
    ["files", "rank_0/a b#?.py", "12"],
    ["chain", "0", "1"],
    ["x", "<script>", "100%", "ü"],
  ]) {
    assert.deepEqual(partsOf(addressOf(...parts)), parts);
  }
  assert.equal(addressOf("files", "a.py", null), "#files/a.py");
  assert.deepEqual(partsOf("#files/%E0%A4"), ["files", "%E0%A4"]);
  assert.doesNotThrow(() => addressOf("files", "\ud800"));
});

test("an address leads to a panel, and a compile id to the chain", () => {
  const panels = ["fix-first", "chain", "files"];
  assert.deepEqual(destination("", panels), { panel: "fix-first", parts: [] });
  assert.deepEqual(destination("#files/a/3", panels), { panel: "files", parts: ["a", "3"] });
  assert.deepEqual(destination("#0/1/Forward_graph/12", panels), {
    panel: "chain",
    parts: ["0", "1", "Forward_graph", "12"],
  });
  assert.deepEqual(destination("#!0/0/0", panels), { panel: "chain", parts: ["!0", "0", "0"] });
  assert.deepEqual(destination("#files/", panels), { panel: "files", parts: [] });
  assert.deepEqual(destination("#content", panels), { panel: "fix-first", parts: [] });
});

test("an address of no panel opens the first one, and says what is missing", () => {
  const missing = (address, panels) => destination(address, panels).missing;
  assert.equal(missing("#nowhere/1", ["fix-first"]), "the place nowhere/1");
  assert.equal(missing("#0/1", ["fix-first"]), "the place 0/1");
  assert.equal(missing(`#${"x".repeat(200)}`, ["fix-first"]), `the place ${"x".repeat(80)}…`);
  assert.equal(missing("#0/1", ["fix-first", "chain"]), undefined);
});

test("runs cut a line into its pieces, whatever they say", () => {
  assert.deepEqual(piecesOf("def f", "k3t1f1"), [
    ["k", "def"],
    ["t", " "],
    ["f", "f"],
  ]);
  assert.deepEqual(piecesOf("x = 1", "t4n99"), [
    ["t", "x = "],
    ["n", "1"],
  ]);
  assert.deepEqual(piecesOf("plain", ""), [["t", "plain"]]);
  assert.deepEqual(piecesOf("", "k3"), []);
  assert.equal(
    piecesOf("a😀b", "t1s2")
      .map(([, piece]) => piece)
      .join(""),
    "a😀b",
  );
});

test("a search names file and line, and counts what it leaves out", () => {
  const texts = {
    lines: [
      ["a Gelu", ""],
      ["b", ""],
    ],
    files: { one: [1, 0], two: [0, 0, 1] },
  };
  const { places, more } = placesOf(texts, "gelu", 2);
  assert.deepEqual(
    places.map(({ file, line }) => `${file}:${line}`),
    ["one:2", "two:1"],
  );
  assert.equal(more, 1);
  assert.deepEqual(placesOf(texts, "none", 2), { places: [], more: 0 });
  assert.deepEqual(textsWith({ a: ["Gelu", "x"], b: { c: "Gelu", d: "a gelu", e: 3, f: null } }, "gelu", 9), [
    "Gelu",
    "a gelu",
  ]);
});

test("what was found is marked in its line, and the line is cut before it", () => {
  assert.deepEqual(highlighted("  x = Gelu(y)", "gelu"), [
    ["x = ", false],
    ["Gelu", true],
    ["(y)", false],
  ]);
  const [[before], [found]] = highlighted(`${"z".repeat(100)}gelu`, "gelu");
  assert.equal(before, `…${"z".repeat(40)}`);
  assert.equal(found, "gelu");
  assert.deepEqual(
    highlighted("İgelu", "gelu")
      .map(([piece]) => piece)
      .join(""),
    "İgelu",
  );
});

test("numbers and ids are written short", () => {
  assert.deepEqual([0.0004, 0.25, 1.234, 12.34, 123.4, null].map(seconds), [
    "0.4 ms",
    "250 ms",
    "1.23 s",
    "12.3 s",
    "123 s",
    "",
  ]);
  assert.deepEqual([12, 1536, 5 * 1024 ** 3, undefined].map(bytes), ["12 B", "1.5 KiB", "5.0 GiB", ""]);
  assert.deepEqual(
    [count(1, "kernel"), count(2, "kernel"), count(2, "entry", "entries")],
    ["1 kernel", "2 kernels", "2 entries"],
  );
  assert.deepEqual([compileId("0/1"), compileId("0/1", 2)], ["0/1", "0/1 (generation 2)"]);
});

test("rows sort by size, by numbers in texts, missing last", () => {
  assert.deepEqual([10, 9, null, 2].sort(compareValues), [2, 9, 10, null]);
  assert.deepEqual(["x10", "x2", "", "x1"].sort(compareValues), ["x1", "x2", "x10", ""]);
});
