// The search over everything: panels, files, every line of every file, every text of every panel.

import { chunk } from "./chunks.js";
import { el, fill, icon } from "./dom.js";
import { highlighted, placesOf, textsWith } from "./finding.js";
import { openDialog } from "./keys.js";

const LINES = 60;
const TEXTS = 8;

/** Open the search. */
export function openSearch(page) {
  let turn = 0;
  let chosen = -1;
  const results = el("div", {
    class: "search-results",
    role: "listbox",
    id: "search-results",
    "aria-label": "Results",
  });
  const said = el(
    "p",
    { class: "search-said muted", role: "status" },
    "Type to search panels, files, lines, guards and reasons.",
  );
  const field = el("input", {
    type: "text",
    class: "search-field",
    placeholder: "Search everything",
    "aria-label": "Search everything",
    role: "combobox",
    "aria-controls": "search-results",
    "aria-expanded": "true",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => look(field.value),
    onkeydown: (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const options = [...results.querySelectorAll("[role=option]")];
      if (step && options.length) {
        event.preventDefault();
        choose(options, (chosen + step + options.length) % options.length);
      } else if (event.key === "Enter") {
        event.preventDefault();
        (options[chosen] ?? options[0])?.click();
      }
    },
  });
  const dialog = openDialog("Search", el("div", { class: "search-box" }, icon("search"), field), said, results);
  dialog.classList.add("search");
  field.focus();

  function choose(options, index) {
    options[chosen]?.setAttribute("aria-selected", "false");
    chosen = index;
    options[chosen].setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  }

  async function look(text) {
    const needle = text.trim().toLowerCase();
    turn += 1;
    const mine = turn;
    if (!needle) {
      fill(results);
      fill(said, "Type to search panels, files, lines, guards and reasons.");
      return;
    }
    const sections = [["Go to", goto(page, needle)]];
    let more = 0;
    for (const group of new Set(page.about.files.map((file) => file.group))) {
      const found = placesOf(await chunk(`chunk-texts-${group}`), needle, LINES);
      if (mine !== turn) return;
      more += found.more;
      for (const { file, line, text: shown } of found.places)
        sections.push([file, [{ parts: ["files", file, line], title: String(line), text: shown, code: true }]]);
    }
    for (const { id, title } of page.about.panels) {
      const found = textsWith(await chunk(`chunk-panel-${id}`), needle, TEXTS);
      if (mine !== turn) return;
      sections.push([title, found.map((shown) => ({ parts: [id], title: "", text: shown, show: shown }))]);
    }
    draw(merged(sections), needle, more);
  }

  function draw(sections, needle, more) {
    chosen = -1;
    let number = 0;
    let shown = 0;
    const parts = [];
    for (const [title, hits] of sections) {
      if (shown >= 4 * LINES) {
        more += hits.length;
        continue;
      }
      shown += hits.length;
      parts.push(el("div", { class: "search-section", role: "presentation" }, title));
      for (const hit of hits) {
        number += 1;
        const pieces = highlighted(hit.text, needle).map(([piece, found]) => (found ? el("mark", {}, piece) : piece));
        parts.push(
          el(
            "div",
            {
              class: hit.code ? "search-hit mono" : "search-hit",
              role: "option",
              id: `hit-${number}`,
              "aria-selected": "false",
              onclick: () => go(hit),
            },
            hit.title && el("span", { class: "search-place" }, hit.title),
            el("span", { class: "search-text" }, pieces),
          ),
        );
      }
    }
    fill(results, parts);
    const rest = more ? `, and ${more} more lines: type more to narrow the search` : "";
    fill(said, number ? `${number} found${rest}` : "Nothing in this dump has this text.");
  }

  function go(hit) {
    dialog.close();
    page.go(...hit.parts);
    if (hit.show) page.showText(hit.parts[0], hit.show);
  }
}

function goto(page, needle) {
  const hits = page.panels
    .filter(({ title }) => title.toLowerCase().includes(needle))
    .map(({ id, title }) => ({ parts: [id], title: "", text: title }));
  const files = page.about.files.filter((file) => file.file.toLowerCase().includes(needle));
  return [
    ...hits,
    ...files.slice(0, 12).map((file) => ({ parts: ["files", file.file], title: "", text: file.file, code: true })),
  ];
}

/** Hits under one title each, empty ones left out. */
function merged(sections) {
  const found = new Map();
  for (const [title, hits] of sections) if (hits.length) found.set(title, (found.get(title) ?? []).concat(hits));
  return found;
}
