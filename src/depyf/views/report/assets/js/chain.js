// The chain: the stages of one compilation side by side.  Selecting a line lights its relatives in all of them.

import {
  addressed,
  coloursOf,
  commonNumbers,
  idOf,
  inferredBecause,
  namesBetween,
  numbersAt,
  openedFirst,
  partsOfLine,
  relationsOf,
  relatives,
} from "./chain_relations.js";
import { codeView } from "./code_view.js";
import { el, fill } from "./dom.js";
import { compileId } from "./format.js";
import { missingLine, shortened } from "./routes.js";
import { splitPanes } from "./split.js";

/** The columns, in the order of the stages; each has the panes of its kinds. */
const COLUMNS = [
  { id: "source", title: "Source", kinds: ["source"], rank: 0 },
  { id: "bytecode", title: "Bytecode", kinds: ["bytecode", "transformed"], rank: 6 },
  { id: "captured", title: "Captured", kinds: ["autograd", "captured"], rank: 2 },
  { id: "aot", title: "AOTAutograd", kinds: ["joint", "forward", "backward"], rank: 4 },
  { id: "post-grad", title: "Post-grad", kinds: ["post-grad"], rank: 5 },
  { id: "wrapper", title: "Wrapper", kinds: ["wrapper"], rank: 3 },
  { id: "kernel", title: "Kernel", kinds: ["kernel"], rank: 1 },
];
/** Columns that are shown at first: two on a screen of 1280 pixels. */
const NARROWEST = 400;
const SHOWN_NAMES = 5;

/** The panel "Chain"; its address is `#0/1/STAGE/LINE`. */
export function showChain(container, data, page) {
  const { compilations } = data;
  const picker = el(
    "select",
    { class: "field", "aria-label": "Compilation", onchange: () => page.go(...addressParts(Number(picker.value))) },
    compilations.map((one, index) =>
      el(
        "option",
        { value: index },
        [one.rank, compileId(one.compile_id, one.generation), one.function].filter(Boolean).join("  "),
      ),
    ),
  );
  const chips = el("div", { class: "chain-chips", role: "group", "aria-label": "Stages" });
  const trail = el("div", { class: "chain-trail", role: "status", "aria-live": "polite" });
  const stage = el("div", { class: "chain-panes" });
  container.append(el("div", { class: "chain" }, el("div", { class: "toolbar" }, picker, chips), trail, stage));
  let current = -1;
  let relations = null;
  let colours = [];
  let columns = [];
  let shown = null;
  let selection = null;

  function addressParts(index) {
    const { rank, ...one } = compilations[index];
    return ["chain", ...(rank ? [rank] : []), ...idOf(one).split("/")];
  }

  async function openCompilation(index) {
    if (index === current) return;
    current = index;
    picker.value = String(index);
    selection = null;
    relations = relationsOf(compilations[index]);
    colours = coloursOf(relations);
    const loaded = await Promise.all(
      relations.panes.map((pane) => {
        const file = page.file(pane.file);
        return file ? page.linesOf(file) : [["This file is not in the dump.", ""]];
      }),
    );
    if (index !== current) return;
    relations.panes.forEach((pane, at) => {
      const [first, last] = boundsOf(pane, loaded[at].length);
      pane.first = first;
      pane.view = codeView({
        label: `${pane.title}, ${pane.file}`,
        lines: loaded[at].slice(first - 1, last),
        first,
        onSelect: (line, event) => select(at, line, event?.shiftKey ?? false),
      });
      paint(at, true);
    });
    columns = COLUMNS.map((column) => ({
      ...column,
      panes: relations.panes.map((pane, at) => ({ pane, at })).filter(({ pane }) => column.kinds.includes(pane.kind)),
      open: 0,
      related: 0,
    })).filter((column) => column.panes.length > 0);
    for (const column of columns) column.open = preferred(column);
    shown ??= new Set(byRank(COLUMNS).map((column) => column.id));
    const room = Math.max(2, Math.floor((container.clientWidth || 1100) / NARROWEST));
    if (!shown.chosen)
      shown = new Set(
        byRank(columns)
          .slice(0, room)
          .map((column) => column.id),
      );
    draw();
    for (const pane of relations.panes) if (pane.direct.size) pane.view.reveal(Math.min(...pane.direct.keys()));
  }

  function draw() {
    fill(chips, columns.map(chipOf));
    const visible = columns.filter((column) => shown.has(column.id));
    fill(
      stage,
      splitPanes(
        visible.map((column) => ({ title: titleOf(column), element: holderOf(column), share: 1 })),
        { minimum: 200, label: "The stages of one compilation" },
      ),
    );
    drawTrail();
  }

  /** The source, and the stage that a link names. */
  function showOnly(...ids) {
    if (ids.every((id) => shown.has(id))) return;
    shown = new Set(ids);
    draw();
  }

  function chipOf(column) {
    const on = shown.has(column.id);
    return el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(on),
        onclick: () => {
          if (on && shown.size > 1) shown.delete(column.id);
          else shown.add(column.id);
          shown.chosen = true;
          draw();
          revealSelection();
        },
      },
      column.title,
      column.related > 0 && el("span", { class: "chip-count" }, column.related),
    );
  }

  function titleOf(column) {
    if (column.panes.length === 1) return column.panes[0].pane.title;
    return el(
      "select",
      {
        class: "pane-picker",
        "aria-label": column.title,
        onchange: (event) => {
          column.open = Number(event.target.value);
          draw();
          revealSelection();
        },
      },
      column.panes.map(({ pane, at }, place) =>
        el(
          "option",
          { value: place, selected: place === column.open },
          pane.title +
            (selection && selection.found[at].direct.length ? ` · ${selection.found[at].direct.length}` : ""),
        ),
      ),
    );
  }

  function holderOf(column) {
    return column.panes[column.open].pane.view.element;
  }

  /** `second`: the line is the other end of a pair with the one that is selected. */
  function select(at, line, second = false) {
    const pane = relations.panes[at];
    const own = numbersAt(pane, line);
    const pair = second && selection && selection.at !== at;
    const numbers = pair ? commonNumbers(selection.numbers, own) : own;
    const start = pair ? { at: selection.at, line: selection.line } : { at, line };
    selection = { ...start, end: pair ? { at, line } : null, numbers, found: relatives(relations, numbers) };
    for (const column of columns) {
      column.related = column.panes.reduce((sum, { at: one }) => sum + selection.found[one].direct.length, 0);
      const has = ({ at: one }) => selection.found[one].direct.length > 0;
      const chosen = column.panes.findIndex(({ at: one }) => one === at || one === selection.at);
      const forward = column.panes.findIndex((one) => one.pane.kind === "forward" && has(one));
      if (chosen >= 0) column.open = chosen;
      else if (!has(column.panes[column.open]))
        column.open = Math.max(forward, 0) || Math.max(column.panes.findIndex(has), 0);
      if (column.panes.some(({ at: one }) => one === at)) shown.add(column.id);
    }
    relations.panes.forEach(({ view }, one) => {
      paint(one, false);
      view.mark("related", selection.found[one].direct);
      view.mark("between", selection.found[one].around);
      view.select(one === selection.at ? selection.line : one === selection.end?.at ? selection.end.line : null);
    });
    draw();
    revealSelection();
    relations.panes[at].view.element.focus({ preventScroll: true });
    page.replaceAddress(...partsOfLine(compilations[current], pane, line));
  }

  function revealSelection() {
    if (!selection) return;
    for (const column of columns) {
      if (!shown.has(column.id)) continue;
      const { at, pane } = column.panes[column.open];
      const lines = selection.found[at].direct.length ? selection.found[at].direct : selection.found[at].around;
      const own = at === selection.at ? selection.line : at === selection.end?.at ? selection.end.line : null;
      if (own !== null) pane.view.reveal(own);
      else if (lines.length) pane.view.reveal((pane.kind === "kernel" && lines[1]) || lines[0]); // the first is its head
    }
  }

  function drawTrail() {
    if (!selection) {
      fill(
        trail,
        el(
          "span",
          { class: "muted" },
          "Select a line: its relatives light up in every stage. Shift and click a second line to see what lies between. Lines of one colour come from one line of the program.",
        ),
        compilations[current].inferred && el("span", { class: "muted" }, inferredBecause(compilations[current])),
      );
      return;
    }
    const names = namesBetween(relations, selection.found);
    const pane = relations.panes[selection.at];
    const steps = [];
    for (const column of columns) {
      const found = [...new Set(column.panes.flatMap(({ at }) => names[at]))];
      const lines = column.panes.reduce((sum, { at }) => sum + selection.found[at].direct.length, 0);
      if (lines === 0) continue;
      if (column.id === "source") steps.push(stepOf(column, placesOf()));
      else if (found.length > 0) steps.push(stepOf(column, found));
    }
    const between = selection.end ? relations.panes[selection.end.at] : null;
    const head = between
      ? `${pane.title}:${selection.line} and ${between.title}:${selection.end.line}`
      : `${pane.title}:${selection.line}`;
    fill(
      trail,
      el("strong", {}, head),
      steps.length
        ? steps
        : el(
            "span",
            { class: "muted" },
            between ? "no operation in common" : "no operation of the graph is on this line",
          ),
      el("button", { type: "button", class: "link-button", onclick: clear }, "clear"),
    );
  }

  /** The lines of the program that the operations come from. */
  function placesOf() {
    const found = [...selection.numbers].map((number) => {
      const [, place, line] = relations.operations[number];
      return `${(relations.places[place] ?? "").split(/[/\\]/).pop()}:${line}`;
    });
    return [...new Set(found)];
  }

  function stepOf(column, names) {
    const more = names.length - SHOWN_NAMES;
    return el(
      "span",
      { class: "trail-step", title: names.join(", ") },
      el("span", { class: "muted" }, column.title),
      el("span", { class: "mono" }, names.slice(0, SHOWN_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "")),
    );
  }

  /** Give the lines of a pane the colours of the program's lines, or take them: a selection stands out. */
  function paint(at, on) {
    colours[at].forEach((lines, colour) => relations.panes[at].view.mark(`hue-${colour}`, on ? lines : []));
  }

  function clear() {
    selection = null;
    for (const column of columns) column.related = 0;
    for (const [at, { view }] of relations.panes.entries()) {
      paint(at, true);
      view.mark("related", []);
      view.mark("between", []);
      view.select(null);
    }
    draw();
  }

  async function open(parts) {
    const { index, rest, lost } = addressed(compilations, parts);
    await openCompilation(index);
    if (index !== current) return null;
    const here = compileId(compilations[index].compile_id, compilations[index].generation);
    if (rest.length === 0) return { missing: lost ? `the compilation ${shortened(parts.join("/"))}` : "", here };
    const at = relations.panes.findIndex(
      ({ id, file }) => id === rest[0] || file.includes(`.${rest[0]}.`) || file === rest[0],
    );
    if (at < 0) return { missing: `the stage ${shortened(rest[0])} of ${here}`, here };
    const missing = missingLine(relations.panes[at].view, rest[1], relations.panes[at].title);
    const line = Number(rest[1]);
    if (!shown.chosen) showOnly("source", columns.find(({ panes }) => panes.some((one) => one.at === at)).id);
    if (rest[1] !== undefined && !missing && !(selection?.at === at && selection.line === line)) select(at, line);
    return { missing, here };
  }

  container.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && selection) clear();
  });
  return openCompilation(openedFirst(compilations)).then(() => ({ open }));
}

/** The first and the last line that is shown of a file. */
function boundsOf(pane, count) {
  if (pane.shown.length === 0) return [1, count];
  return [pane.shown[0][0], Math.min(count, pane.shown[pane.shown.length - 1][1])];
}

function byRank(columns) {
  return [...columns].sort((one, other) => one.rank - other.rank);
}

/** The pane that a column opens with: the forward graph where there is one. */
function preferred(column) {
  return Math.max(
    0,
    column.panes.findIndex(({ pane }) => ["forward", "transformed", "captured"].includes(pane.kind)),
  );
}
