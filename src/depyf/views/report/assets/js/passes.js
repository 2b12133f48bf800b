// Diff per pass: the graph before and after each stage of passes, and two compilations of one function.

import { badge } from "./badges.js";
import { codeView } from "./code_view.js";
import { el, fill } from "./dom.js";
import { compileId } from "./format.js";
import { changedStretches, commonLines, comparedText } from "./line_diff.js";
import { shortened } from "./routes.js";
import { scrollTogether } from "./scroll_together.js";
import { splitPanes } from "./split.js";

/** The panel "Passes"; its address is `#passes/BEFORE/AFTER`, two files. */
export function showPasses(container, data, page) {
  const list = el("nav", { class: "file-list", "aria-label": "Stages of passes" });
  const viewer = el("div", { class: "passes-viewer" });
  container.append(el("div", { class: "files" }, el("div", { class: "file-side" }, list), viewer));
  const links = new Map();

  for (const one of data.compilations) {
    list.append(
      el(
        "details",
        { class: "file-group", open: data.compilations.length < 8 || one === data.compilations[0] },
        el(
          "summary",
          {},
          el(
            "span",
            { class: "mono" },
            [one.rank, compileId(one.compile_id, one.generation)].filter(Boolean).join(" "),
          ),
        ),
        el(
          "ul",
          {},
          one.pairs.map((pair) => {
            const link = el(
              "a",
              { href: page.href("passes", pair.before, pair.after), class: "pass-link" },
              el("span", {}, pair.title),
              changesOf(pair),
            );
            links.set(`${pair.before} ${pair.after}`, link);
            return el("li", {}, link);
          }),
        ),
      ),
    );
  }
  if (data.functions.length > 0)
    list.append(el("h2", { class: "pass-heading" }, "Two compilations"), ...data.functions.map(pickerOf));

  function pickerOf({ function: name, rank, ids }) {
    const options = () =>
      ids.map((one, index) => el("option", { value: index }, compileId(one.compile_id, one.generation)));
    const first = el("select", { class: "field", "aria-label": `${name}, first compilation` }, options());
    const second = el("select", { class: "field", "aria-label": `${name}, second compilation` }, options());
    second.value = "1";
    const stages = [...new Set(ids.flatMap((one) => Object.keys(one.files)))];
    const stage = el(
      "select",
      { class: "field", "aria-label": `${name}, stage` },
      stages.map((title) => el("option", {}, title)),
    );
    const note = el("p", { class: "muted" });
    const go = () => {
      const files = [first, second].map((field) => ids[Number(field.value)].files[stage.value]);
      fill(note, files.every(Boolean) ? "" : "One of them has no such stage.");
      if (files.every(Boolean)) page.go("passes", ...files);
    };
    return el(
      "div",
      { class: "pass-picker" },
      el("div", { class: "mono clip" }, [rank, name].filter(Boolean).join(" ")),
      el(
        "div",
        { class: "pass-fields" },
        first,
        second,
        stage,
        el("button", { type: "button", class: "chip", onclick: go }, "Compare"),
      ),
      note,
    );
  }

  async function show(before, after) {
    const files = [before, after].map((name) => page.file(name));
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(`${before} ${after}`)?.setAttribute("aria-current", "true");
    if (!files.every(Boolean)) {
      fill(viewer, el("p", { class: "empty" }, "This file is not in the dump."));
      return;
    }
    const lines = await Promise.all(files.map((file) => page.linesOf(file)));
    const [one, other] = lines.map((all) => all.map(([text]) => comparedText(text)));
    const pairs = commonLines(one, other);
    const changes = changedStretches(pairs, [one.length, other.length]);
    const views = files.map((file, side) => codeView({ lines: lines[side], label: file.file }));
    const range = ([start, end]) => Array.from({ length: end - start }, (_, index) => start + index + 1);
    views[0].mark(
      "removed",
      changes.flatMap((change) => range(change.one)),
    );
    views[1].mark(
      "added",
      changes.flatMap((change) => range(change.other)),
    );
    scrollTogether(views, pairs);
    let at = -1;
    const status = el("span", { class: "muted", role: "status" });
    const step = (by) => {
      if (changes.length === 0) return;
      at = (at + by + changes.length) % changes.length;
      views[0].reveal(Math.min(changes[at].one[0] + 1, lines[0].length), { center: true });
      views[1].reveal(Math.min(changes[at].other[0] + 1, lines[1].length), { center: true });
      fill(status, `change ${at + 1} of ${changes.length}`);
    };
    fill(
      viewer,
      el(
        "div",
        { class: "toolbar" },
        el("button", { type: "button", class: "chip", onclick: () => step(-1) }, "Previous change"),
        el("button", { type: "button", class: "chip", onclick: () => step(1) }, "Next change"),
        status,
      ),
      splitPanes(
        files.map((file, side) => ({ title: file.file, element: views[side].element })),
        { minimum: 160, label: "Before and after" },
      ),
    );
    if (changes.length) step(1);
    else fill(status, "The two are the same.");
  }

  async function open(parts) {
    const pairs = data.compilations.flatMap((one) => one.pairs);
    const first = pairs.find((pair) => /passes/.test(pair.title) && (pair.added || pair.removed)) ?? pairs[0];
    if (parts.length >= 2) await show(parts[0], parts[1]);
    else if (first) await show(first.before, first.after);
    const lost = parts.slice(0, 2).find((name) => !page.file(name)) ?? (parts.length === 1 ? parts[0] : undefined);
    return { missing: lost === undefined ? "" : `the pair of files that ${shortened(lost)} is in` };
  }
  return open([]).then(() => ({ open }));
}

function changesOf({ added, removed }) {
  if (!added && !removed) return badge("plain", "no change");
  return el(
    "span",
    { class: "pass-counts mono" },
    el("span", { class: "count-added" }, `+${added}`),
    " ",
    el("span", { class: "count-removed" }, `−${removed}`),
  );
}
