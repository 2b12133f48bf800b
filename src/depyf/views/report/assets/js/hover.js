// A card beside what it explains: shown while the mouse or the keyboard's focus is on it, closed by Escape.

import { el, setStyle } from "./dom.js";

let card = null;
let owner = null;
let leaving = 0;

/** Show `content()` beside `trigger`; a trigger that nothing can focus becomes focusable. */
export function hoverCard(trigger, content) {
  if (!trigger.matches("a[href], button, summary, [tabindex]")) trigger.setAttribute("tabindex", "0");
  trigger.addEventListener("mouseenter", () => openCard(trigger, content));
  trigger.addEventListener("mouseleave", leaveCard);
  trigger.addEventListener("focus", () => openCard(trigger, content));
  trigger.addEventListener("blur", leaveCard);
  return trigger;
}

function openCard(trigger, content) {
  clearTimeout(leaving);
  if (owner === trigger) return;
  closeCard();
  card = el(
    "div",
    {
      class: "hover-card",
      role: "tooltip",
      id: "hover-card",
      onmouseenter: () => clearTimeout(leaving),
      onmouseleave: leaveCard,
    },
    content(),
  );
  document.body.append(card);
  owner = trigger;
  trigger.setAttribute("aria-describedby", "hover-card");
  placeCard(trigger.getBoundingClientRect());
}

function placeCard(place) {
  const { clientWidth: wide, clientHeight: high } = document.documentElement;
  const size = card.getBoundingClientRect();
  const left = Math.max(8, Math.min(place.left, wide - size.width - 8));
  const below = place.bottom + 6;
  const top = below + size.height < high - 8 ? below : Math.max(8, place.top - size.height - 6);
  setStyle(card, { left: `${left}px`, top: `${top}px` });
}

function leaveCard() {
  clearTimeout(leaving);
  leaving = setTimeout(closeCard, 120);
}

/** Close the card; whether there was one. */
export function closeCard() {
  clearTimeout(leaving);
  if (!card) return false;
  owner.removeAttribute("aria-describedby");
  card.remove();
  card = owner = null;
  return true;
}
