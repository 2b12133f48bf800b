import { chunk, linesOf } from "./chunks.js";
import { el } from "./dom.js";
import { showFixFirst } from "./fix_first.js";

/** Panel -> the function that fills its container with its data; `page` is what they share. */
const PANELS = { "fix-first": showFixFirst };

async function start() {
  const about = await chunk("about");
  const page = { about, linesOf };
  const app = document.getElementById("app");
  for (const { id, title } of about.panels) {
    const section = el("section", { id }, el("h2", {}, title));
    app.append(section);
    PANELS[id](section, await chunk(`chunk-panel-${id}`), page);
  }
}

start();
