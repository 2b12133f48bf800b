// What to fix first, with what it costs.

import { el } from "./dom.js";

export function showFixFirst(container, data) {
  container.append(
    el(
      "ol",
      {},
      data.causes.map((cause) => el("li", {}, cause.text)),
    ),
  );
}
