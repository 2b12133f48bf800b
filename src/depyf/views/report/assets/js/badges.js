// Small labels beside a line, a function, a file.

import { el } from "./dom.js";
import { hoverCard } from "./hover.js";

/**
 * A badge.  `kind` is its colour: break, recompile, dimension, eager, seconds, kernels, failed, good, note, plain.  `card()` is what
 * a person sees who points at it, `href` where a click leads, `label` what a screen reader says instead of `text`.
 */
export function badge(kind, text, { card: content = null, href = null, label = null } = {}) {
  const attributes = { class: `badge badge-${kind}`, "aria-label": label, href };
  if (label && !href) attributes.role = content ? "note" : "img";
  const element = el(href ? "a" : "span", attributes, text);
  return content ? hoverCard(element, content) : element;
}
