// The only place that makes elements.  Text of a program becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * A new element.  `attributes` by name: `on…` are listeners, `style` is an object of CSS properties (set one by one: the
 * page's policy forbids style attributes), true is an attribute without a value, false, null and undefined are left out.
 * Children are nodes or texts, nested as they like.
 */
export function el(tag, attributes, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function svgEl(tag, attributes, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") setStyle(element, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...present(children));
  return element;
}

/** Set CSS properties of an element: custom ones by their name, others as CSS spells them. */
export function setStyle(element, properties) {
  for (const [key, value] of Object.entries(properties ?? {})) element.style.setProperty(key, value);
}

/** Replace what is in `container`. */
export function fill(container, ...children) {
  container.replaceChildren(...present(children));
  return container;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

const PATHS = {
  menu: "M2 4h12M2 8h12M2 12h12",
  search: "M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM11 11l3.5 3.5",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.2M8 13.8V15M1 8h1.2M13.8 8H15M3 3l.9.9M12.1 12.1l.9.9M3 13l.9-.9M12.1 3.9l.9-.9",
  keys: "M1.5 4h13v8h-13ZM4 6.7h.1M6.6 6.7h.1M9.3 6.7h.1M12 6.7h.1M5 9.6h6",
  warning: "M8 1.8 15 14H1ZM8 6.2v3.6M8 11.9h.1",
};

/** A small line drawing; it says nothing to a screen reader. */
export function icon(which) {
  const path = svgEl("path", { d: PATHS[which] });
  return svgEl("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, path);
}
