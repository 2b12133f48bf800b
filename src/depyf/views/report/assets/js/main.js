// The page starts here: the frame is built, and a panel is filled when it is first opened.

import { showBill } from "./bill.js";
import { showCallTree } from "./call_tree.js";
import { showChain } from "./chain.js";
import { chunk, linesOf } from "./chunks.js";
import { el, fill } from "./dom.js";
import { showFiles } from "./files.js";
import { showFixFirst } from "./fix_first.js";
import { showGraphs } from "./graphs.js";
import { showGuards } from "./guards.js";
import { bindKey, startKeys } from "./keys.js";
import { buildFrame, toggleNavigation } from "./layout.js";
import { showMemory } from "./memory.js";
import { showRanks } from "./ranks.js";
import { showRecompilations } from "./recompilations.js";
import { showPasses } from "./passes.js";
import { addressOf, destination, shortened } from "./routes.js";
import { showRunDiff } from "./run_diff.js";
import { openSearch } from "./search.js";
import { showShapes } from "./shapes.js";
import { showSource } from "./source.js";
import { startTheme, toggleTheme } from "./theme.js";
import { showTimeline } from "./timeline.js";

/** Panel -> the function that fills its container with its data; `page` is what they share. */
const PANELS = {
  "fix-first": showFixFirst,
  "run-diff": showRunDiff,
  ranks: showRanks,
  recompilations: showRecompilations,
  guards: showGuards,
  "call-tree": showCallTree,
  timeline: showTimeline,
  shapes: showShapes,
  memory: showMemory,
  bill: showBill,
  graphs: showGraphs,
  source: showSource,
  chain: showChain,
  passes: showPasses,
};

async function start() {
  startTheme();
  const about = await chunk("about");
  const panels = [...about.panels.filter(({ id }) => PANELS[id]), { id: "files", title: "Files" }];
  const ids = panels.map(({ id }) => id);
  const byName = new Map(about.files.map((file) => [file.file, file]));
  const opened = new Map();
  let address = "";
  const page = {
    about,
    panels,
    linesOf,
    file: (named) => byName.get(named) ?? byName.get(about.main + named) ?? null,
    href: addressOf,
    go: (...parts) => moveTo(addressOf(...parts)),
    replaceAddress: (...parts) => writeAddress(addressOf(...parts), true),
    showText,
  };
  let turn = 0;
  const { links, sections, lost } = buildFrame(document.getElementById("app"), page);

  function writeAddress(to, replace) {
    address = to;
    fill(lost);
    try {
      if (replace) history.replaceState(null, "", to);
      else history.pushState(null, "", to);
    } catch {
      // a page in a notebook's frame has no address
    }
  }

  function moveTo(to) {
    if (to !== address) writeAddress(to, false);
    return show();
  }

  /** Show what the address names; returns when it is there. */
  async function show() {
    const { panel, parts, missing } = destination(address, ids);
    const mine = (turn += 1);
    sayMissing(panel, { missing });
    for (const [id, section] of sections) {
      section.hidden = id !== panel;
      if (id === panel) links.get(id).setAttribute("aria-current", "page");
      else links.get(id).removeAttribute("aria-current");
    }
    document.body.dataset.panel = panel;
    links.get(panel).scrollIntoView({ block: "nearest", inline: "nearest" });
    const first = !opened.has(panel);
    if (first) opened.set(panel, fillPanel(panel, sections.get(panel)));
    const shown = await opened.get(panel);
    sections.get(panel).dataset.filled = "true";
    if (mine !== turn || shown === null || !(parts.length || !first || panel === "files")) return;
    const found = shown?.open
      ? await shown.open(parts)
      : { missing: parts.length ? `the place ${shortened(parts.join("/"))} of this panel` : missing };
    if (mine === turn && found?.missing) sayMissing(panel, found);
  }

  /** Say that the address asks for what is not there, and what is shown instead; nothing where it is there. */
  function sayMissing(panel, { missing, here }) {
    const { title } = panels.find(({ id }) => id === panel);
    const place = here ? `${title}, ${here}` : title;
    fill(
      lost,
      missing &&
        el("p", { class: "notice" }, `The address asks for ${missing}, which is not in this report. Here is ${place}.`),
    );
  }

  async function fillPanel(id, section) {
    const body = el("div", { class: "panel-body" });
    section.append(body);
    if (id === "files") return showFiles(body, page);
    try {
      return await PANELS[id](body, await chunk(`chunk-panel-${id}`), page);
    } catch (error) {
      fill(
        body,
        el(
          "p",
          { class: "notice", role: "alert" },
          `This panel cannot be shown: ${error.message}. The files are all there: see Files.`,
        ),
      );
      return null;
    }
  }

  /** Scroll to a text in a panel, and let it flash. */
  async function showText(panel, text) {
    await show();
    const body = sections.get(panel);
    const walker = document.createTreeWalker(body, 4);
    const needle = text.trim().split("\n")[0].slice(0, 60);
    while (walker.nextNode()) {
      if (!walker.currentNode.data.includes(needle)) continue;
      const found = walker.currentNode.parentElement;
      for (let above = found; above && above !== body; above = above.parentElement)
        if (above.tagName === "DETAILS") above.open = true;
      found.scrollIntoView({ block: "center" });
      found.classList.add("flash");
      setTimeout(() => found.classList.remove("flash"), 1600);
      return;
    }
  }

  function step(by) {
    const { panel } = destination(address, ids);
    moveTo(addressOf(ids[(ids.indexOf(panel) + by + ids.length) % ids.length]));
  }

  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    event.preventDefault();
    moveTo(link.getAttribute("href"));
  });
  window.addEventListener("popstate", () => {
    address = location.hash;
    show();
  });
  bindKey("/", "search everything", () => openSearch(page));
  bindKey("]", "next panel", () => step(1));
  bindKey("[", "previous panel", () => step(-1));
  bindKey("\\", "show or hide the navigation", toggleNavigation);
  bindKey("t", "light or dark", toggleTheme);
  startKeys();
  address = location.hash;
  await show();
  document.documentElement.dataset.ready = String(performance.now());
}

start();
