// Keys that work everywhere on the page, and the list of them.

import { el } from "./dom.js";
import { closeCard } from "./hover.js";

const bindings = [];
const LISTED = [
  ["↑ ↓", "in code: select the line above or below"],
  ["PgUp PgDn", "in code: select a line a page away"],
  ["← →", "on a separator: resize the panes"],
  ["Tab", "go to the next thing that can be used"],
  ["Esc", "close what is open"],
];

/** Call `action` when `key` is pressed outside of a field; `title` is how the list of keys describes it. */
export function bindKey(key, title, action) {
  bindings.push({ key, title, action });
}

/** Listen for keys. */
export function startKeys() {
  bindKey("?", "list the keys", showKeys);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && closeCard()) return;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const found = bindings.find(({ key }) => key === event.key);
    if (!found) return;
    event.preventDefault();
    found.action();
  });
}

function isTyping(target) {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

/** The list of keys, as a dialog. */
export function showKeys() {
  const rows = [...bindings.map(({ key, title }) => [key, title]), ...LISTED].map(([keys, title]) =>
    el(
      "div",
      { class: "key-row" },
      el(
        "dt",
        {},
        keys.split(" ").map((key) => el("kbd", {}, key)),
      ),
      el("dd", {}, title),
    ),
  );
  openDialog("Keyboard", el("dl", { class: "key-list" }, rows));
}

/** A dialog over the page, closed by Escape, its button, or a click beside it; it takes itself away. */
export function openDialog(title, ...content) {
  const close = el(
    "button",
    { class: "button quiet", type: "button", "aria-label": "Close", onclick: () => dialog.close() },
    "✕",
  );
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-label": title },
    el("header", { class: "dialog-head" }, el("h2", {}, title), close),
    content,
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
