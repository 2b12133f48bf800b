// The frame of the page: head, navigation, one section a panel.

import { el, icon, svgEl } from "./dom.js";
import { showKeys } from "./keys.js";
import { openSearch } from "./search.js";
import { toggleTheme } from "./theme.js";

/**
 * Build the frame in `app`; returns the section of each panel, its link in the navigation, and the place for a word on an
 * address that leads nowhere.
 */
export function buildFrame(app, page) {
  const { about, panels } = page;
  const links = new Map();
  const sections = new Map();
  for (const { id, title } of panels) {
    links.set(id, el("a", { href: page.href(id), class: "nav-link", "data-panel": id }, title));
    sections.set(
      id,
      el(
        "section",
        { id: `panel-${id}`, class: "panel", "aria-labelledby": `head-${id}`, hidden: true },
        el("h1", { id: `head-${id}`, class: "panel-title", tabindex: "-1" }, title),
      ),
    );
  }
  const lost = el("div", { class: "lost", role: "status" });
  const main = el("main", { id: "content", tabindex: "-1" }, missingNotice(about.missing), lost, [
    ...sections.values(),
  ]);
  app.replaceChildren(
    el(
      "a",
      {
        class: "skip",
        href: "#content",
        onclick: (event) => (event.preventDefault(), event.stopPropagation(), main.focus()),
      },
      "Skip to the content",
    ),
    head(about, page),
    el("nav", { class: "nav", "aria-label": "Panels" }, [...links.values()]),
    main,
  );
  return { links, sections, lost };
}

function head(about, page) {
  const versions = [about.torch && `torch ${about.torch}`, about.python && `Python ${about.python}`].filter(Boolean);
  return el(
    "header",
    { class: "head" },
    el(
      "button",
      {
        type: "button",
        class: "button quiet",
        "aria-label": "Navigation",
        title: "Show or hide the navigation (\\)",
        onclick: toggleNavigation,
      },
      icon("menu"),
    ),
    el(
      "a",
      { class: "brand", href: page.href(page.panels[0].id), "aria-label": "depyf report" },
      mark(),
      el("span", { class: "brand-name" }, "depyf"),
    ),
    el("span", { class: "head-title clip", title: about.title }, about.title),
    el("span", { class: "head-versions muted" }, versions.join(" · ")),
    el("span", { class: "grow" }),
    el(
      "button",
      {
        type: "button",
        class: "search-button",
        "aria-label": "Search everything",
        "aria-keyshortcuts": "/",
        onclick: () => openSearch(page),
      },
      icon("search"),
      el("span", { class: "search-label" }, "Search everything"),
      el("kbd", {}, "/"),
    ),
    el(
      "button",
      { type: "button", class: "button quiet", "aria-label": "Keyboard", title: "Keyboard (?)", onclick: showKeys },
      icon("keys"),
    ),
    el(
      "button",
      {
        type: "button",
        class: "button quiet theme-button",
        "aria-label": "Light or dark",
        title: "Light or dark (t)",
        onclick: toggleTheme,
      },
      icon("sun"),
      icon("moon"),
    ),
  );
}

/** Hide the navigation, or show it again. */
export function toggleNavigation() {
  document.body.classList.toggle("without-nav");
}

/** An opened box. */
function mark() {
  return svgEl(
    "svg",
    { viewBox: "0 0 24 24", class: "brand-mark", "aria-hidden": "true" },
    svgEl("path", { class: "box-back", d: "M3 9.5 12 5l9 4.5-9 4.5Z" }),
    svgEl("path", { class: "box-left", d: "M3 9.5v7.2L12 21.5V14Z" }),
    svgEl("path", { class: "box-right", d: "M21 9.5v7.2L12 21.5V14Z" }),
    svgEl("path", { class: "box-light", d: "M12 12.2V2.5M8.2 10.4 6.6 4M15.8 10.4 17.4 4" }),
  );
}

function missingNotice(missing) {
  if (!missing?.length) return null;
  const what = missing.length === 1 ? "One thing cannot be shown" : `${missing.length} things cannot be shown`;
  return el(
    "details",
    { class: "notice", open: missing.length < 4 },
    el("summary", {}, icon("warning"), what),
    el(
      "ul",
      {},
      missing.map((line) => el("li", {}, line)),
    ),
  );
}
