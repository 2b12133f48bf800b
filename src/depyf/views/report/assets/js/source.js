// My source: the program's files, each line with what torch.compile made of it.

import { badge } from "./badges.js";
import { codeView } from "./code_view.js";
import { el, fill } from "./dom.js";
import { missingLine, shortened } from "./routes.js";

/** The panel "My source"; its address is `#source/FILE/LINE`, FILE the name of the dump's copy. */
export function showSource(container, data, page) {
  const viewer = el("div", { class: "file-viewer" });
  const links = new Map();
  const list = el(
    "nav",
    { class: "file-list", "aria-label": "Files of the program" },
    el("ul", { class: "source-list" }, data.files.map(entryOf)),
  );
  container.append(el("div", { class: "files" }, el("div", { class: "file-side" }, list), viewer));
  let current = null;
  let view = null;

  function entryOf(file) {
    const link = el(
      "a",
      { href: page.href("source", file.file), class: "source-link", title: file.path },
      el("span", { class: "mono" }, file.name),
      el("span", { class: "source-counts" }, countsOf(file)),
    );
    links.set(file.file, link);
    return el("li", {}, link);
  }

  async function show(file) {
    if (current === file) return;
    current = file;
    for (const [name, link] of links) {
      if (name === file.file) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const listed = page.file(file.file);
    const lines = listed ? await page.linesOf(listed) : [["This file is not in the dump.", ""]];
    if (current !== file) return;
    const badges = new Map(file.badges);
    const chain = new Map(file.chain);
    view = codeView({
      lines,
      label: file.path,
      after: (line) => (badges.get(line) ?? []).map((one) => badgeOf(one, chain.get(line), page)),
      onSelect: (line, event) => {
        const leads = event?.type === "click" || event?.key === "Enter";
        if (leads && chain.has(line)) page.go(...chain.get(line));
      },
    });
    view.mark("between", [...chain.keys()]);
    fill(
      viewer,
      el(
        "p",
        { class: "muted source-lead" },
        el("span", { class: "mono" }, file.path),
        " · marked lines are compiled: click one to follow it to its kernels",
      ),
      view.element,
    );
    const first = file.badges[0]?.[0] ?? file.chain[0]?.[0];
    if (first) view.reveal(first);
  }

  async function open(parts) {
    const found = data.files.find(({ file, path, name }) => [file, path, name].includes(parts[0]));
    const file = found ?? current ?? data.files[0];
    await show(file);
    if (parts[0] !== undefined && !found)
      return { missing: `the program's file ${shortened(parts[0])}`, here: file.name };
    const missing = missingLine(view, parts[1], file.name);
    if (parts[1] !== undefined && !missing) {
      view.select(Number(parts[1]));
      view.reveal(Number(parts[1]), { center: true });
    }
    return { missing, here: file.name };
  }
  return open([]).then(() => ({ open }));
}

function badgeOf({ kind, text, says }, parts, page) {
  const leads = parts && (kind === "kernels" || kind === "break");
  return badge(kind, text, {
    card: says.length ? () => says.map((one) => el("p", { class: "card-line" }, one)) : null,
    href: leads ? page.href(...parts) : null,
  });
}

/** How many badges of the kinds that call for action a file has. */
function countsOf(file) {
  const counts = new Map();
  for (const [, badges] of file.badges)
    for (const { kind } of badges)
      if (["break", "recompile", "dimension", "eager", "failed"].includes(kind))
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => badge(kind, String(count), { label: `${count} ${kind}` }));
}
