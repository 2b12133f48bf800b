import assert from "node:assert/strict";
import { test } from "node:test";

import { inOrder, titleOf } from "../../src/depyf/views/report/assets/js/file_names.js";

const entry = (file, kind, stage = "", index = 0) => ({ file, kind, stage, index });

test("a title says what the name of the file says", () => {
  const titles = [
    entry("__compiled_fn_0_0.AFTER_POST_GRAD.1.py", "graph", "AFTER_POST_GRAD", 1),
    entry("rank_0/__compiled_fn_0_0.Joint_graph.0.py", "graph", "Joint_graph"),
    entry("__compiled_fn_0_0.kernel_1.py", "wrapper", "kernel", 1),
    entry("rank_1/__compiled_fn_0_0.kernel_1.cpp_fused_gelu_1.cpp", "kernel_source"),
    entry("__compiled_fn_0_0.Captured_Graph.0.layers.txt", "layers"),
    entry("full_code_for_f_0.py", "full_code"),
    entry("memory.md", "memory"),
    entry("killed.py", ""),
  ].map(titleOf);
  assert.deepEqual(titles, [
    "After post-grad 1",
    "Joint",
    "Wrapper 1",
    "cpp_fused_gelu_1",
    "Captured layers",
    "Dispatcher of f",
    "memory.md",
    "killed.py",
  ]);
});

test("files stand in the order of torch's stages", () => {
  const stages = ["full_code", "Captured_Graph", "Joint_graph", "kernel", "kernel_source"];
  const files = [
    entry("k", "kernel_source"),
    entry("w1", "wrapper", "kernel", 1),
    entry("w0", "wrapper", "kernel"),
    entry("other", "graph", "NEW"),
    entry("j", "graph", "Joint_graph"),
    entry("c", "graph", "Captured_Graph"),
    entry("f", "full_code"),
  ];
  assert.equal(
    inOrder(files, stages)
      .map(({ file }) => file)
      .join(" "),
    "f c j w0 w1 k other",
  );
});
