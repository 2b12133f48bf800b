import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { chunk } from "../../src/depyf/views/report/assets/js/chunks.js";

test("a chunk is inflated once, and is what was packed", async () => {
  const data = { text: "ü </script> \u2028", list: [1, null, "x"] };
  let asked = 0;
  globalThis.document = {
    getElementById() {
      asked += 1;
      return { textContent: gzipSync(JSON.stringify(data)).toString("base64") };
    },
  };
  assert.deepEqual(await chunk("one"), data);
  assert.deepEqual(await chunk("one"), data);
  assert.equal(asked, 1);
});
