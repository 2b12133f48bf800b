// Every file of the dump: a list by compilation, and the text of one.

import { badge } from "./badges.js";
import { codeView } from "./code_view.js";
import { el, fill } from "./dom.js";
import { inOrder, titleOf } from "./file_names.js";
import { compileId } from "./format.js";
import { missingLine, shortened } from "./routes.js";

/** The panel "Files"; its address is `#files/NAME/LINE`. */
export function showFiles(container, page) {
  const entries = inOrder(page.about.files, page.about.stages);
  const links = new Map();
  const viewer = el("div", { class: "file-viewer" });
  const list = el("nav", { class: "file-list", "aria-label": "Files" });
  const field = el("input", {
    type: "search",
    class: "field",
    placeholder: "Filter files",
    "aria-label": "Filter files",
    oninput: () => drawList(field.value),
  });
  container.append(
    el(
      "div",
      { class: "files" },
      el("div", { class: "file-side" }, el("div", { class: "toolbar" }, field), list),
      viewer,
    ),
  );
  let current = null;
  let view = null;

  function drawList(typed) {
    const needle = typed.trim().toLowerCase();
    const groups = new Map();
    for (const entry of entries) {
      if (needle && !`${entry.file} ${entry.function ?? ""} ${entry.compile_id ?? ""}`.toLowerCase().includes(needle))
        continue;
      if (!groups.has(entry.group)) groups.set(entry.group, []);
      groups.get(entry.group).push(entry);
    }
    links.clear();
    const sections = [...groups.values()].map((files) => {
      const { compile_id: id, generation } = files[0];
      const named = files.find((file) => file.function)?.function;
      const head = id
        ? [
            el("span", { class: "mono" }, compileId(id, generation)),
            named && el("span", { class: "muted clip" }, named),
          ]
        : el("span", {}, "Whole run");
      return el(
        "details",
        { class: "file-group", open: groups.size < 12 || needle || files.some((file) => file.file === current) },
        el("summary", {}, head, el("span", { class: "count" }, files.length)),
        el(
          "ul",
          {},
          files.map((file) => el("li", {}, linkTo(file))),
        ),
      );
    });
    fill(list, sections.length ? sections : el("p", { class: "empty" }, "No file has this name."));
    markCurrent();
  }

  function linkTo(entry) {
    const link = el(
      "a",
      { href: page.href("files", entry.file), title: entry.file, class: "file-link" },
      el("span", { class: "clip" }, titleOf(entry)),
      el("span", { class: "file-kind" }, entry.file.split(".").pop()),
    );
    links.set(entry.file, link);
    return link;
  }

  function markCurrent() {
    for (const [name, link] of links) {
      if (name === current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    links.get(current)?.scrollIntoView({ block: "nearest" });
  }

  async function open(parts) {
    const named = parts[0] ?? current ?? entries[0]?.file;
    const entry = page.file(named);
    if (!entry) {
      current = named;
      view = null;
      markCurrent();
      const text = named ? `This page has no file ${named}.` : "This dump has no file that can be shown.";
      fill(viewer, el("p", { class: "empty" }, text));
      return { missing: named ? `the file ${shortened(named)}` : "" };
    }
    if (named !== current) {
      current = named;
      view = null;
      const lines = await page.linesOf(entry);
      if (current !== named) return null;
      view = codeView({ lines, label: named, onSelect: (number) => page.replaceAddress("files", named, number) });
      const head = el(
        "header",
        { class: "file-head" },
        el("h2", { class: "mono clip", title: named }, named),
        entry.compile_id && badge("plain", compileId(entry.compile_id, entry.generation)),
        el("span", { class: "muted" }, `${lines.length} lines`),
      );
      fill(viewer, head, view.element);
      for (const link of links.values()) link.closest("details").open ||= link === links.get(named);
      markCurrent();
    }
    if (!view) return null;
    const missing = missingLine(view, parts[1], named);
    if (parts[1] !== undefined && !missing) {
      view.select(Number(parts[1]));
      view.reveal(Number(parts[1]), { center: true });
    }
    return { missing, here: named };
  }

  drawList("");
  return { open };
}
