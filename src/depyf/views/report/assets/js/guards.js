// Every guard by the line that made it, searchable, with the value that it looked at when the recording ended; and what no
// guard looks at, by the line that reads it.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { count } from "./format.js";
import { entryChip, placeLink } from "./told.js";

const MOST_GUARDS = 250;

export function showGuards(container, data, page) {
  const free = data.guards.filter((guard) => guard.unguarded).length;
  const field = el("input", {
    type: "search",
    class: "field",
    placeholder: `Filter ${count(data.guards.length - free, "guard")}`,
    "aria-label": "Filter guards",
    oninput: draw,
  });
  const functions = [...new Set(data.entries.map((entry) => entry.function))];
  const chosen = el(
    "select",
    { "aria-label": "Of", onchange: draw },
    el("option", { value: "" }, "all functions"),
    functions.map((name, index) => el("option", { value: `f${index}` }, name || "unknown")),
    data.entries.map((entry, index) => el("option", { value: `e${index}` }, `${entry.id} ${entry.function}`)),
  );
  const changed = data.guards.filter((guard) => guard.holds === false).length;
  const failing = toggle(
    `no longer hold (${changed})`,
    "Guards on globals whose value has changed since: the next call will not fit",
  );
  const without = toggle(
    `without a guard (${free})`,
    "What the code reads and no guard looks at: it may change, and the compiled code runs all the same",
  );
  const said = el("span", { class: "muted", role: "status" });
  const list = el("div", { class: "guard-groups" });
  const texts = data.guards.map((guard) =>
    [
      guard.expression,
      guard.at,
      guard.line,
      guard.why,
      guard.value,
      guard.kind,
      guard.left_out && `left out ${guard.left_out}`,
      guard.served && `served alone ${guard.served}`,
      guard.unguarded && `no guard ${guard.unguarded}`,
    ]
      .filter(Boolean)
      .join(" ")
      .toLowerCase(),
  );

  function toggle(text, title) {
    const button = el(
      "button",
      {
        class: "button",
        type: "button",
        "aria-pressed": "false",
        title,
        onclick: () => {
          button.setAttribute("aria-pressed", String(!isPressed(button)));
          draw();
        },
      },
      text,
    );
    return button;
  }

  function fits(guard, index) {
    const needle = field.value.trim().toLowerCase();
    if (needle && !texts[index].includes(needle)) return false;
    if (isPressed(failing) && guard.holds !== false) return false;
    if (isPressed(without) && !guard.unguarded) return false;
    const of = chosen.value;
    if (of.startsWith("e")) return guard.entries.includes(Number(of.slice(1)));
    if (of.startsWith("f")) {
      const name = functions[Number(of.slice(1))];
      return guard.entries.some((number) => data.entries[number].function === name);
    }
    return true;
  }

  function draw() {
    const found = data.guards.filter(fits);
    const groups = new Map();
    for (const guard of found.slice(0, MOST_GUARDS)) {
      const key = guard.at ?? "";
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(guard);
    }
    fill(
      said,
      found.length > MOST_GUARDS
        ? `the first ${MOST_GUARDS} of ${found.length}`
        : found.length < data.guards.length
          ? `${found.length} of ${data.guards.length}`
          : "",
    );
    fill(
      list,
      found.length
        ? [...groups].map(([at, guards]) => groupOf(at, guards))
        : el("p", { class: "empty" }, "No guard fits."),
    );
  }

  function groupOf(at, guards) {
    return el(
      "section",
      { class: "guard-group card" },
      el(
        "h2",
        {},
        at
          ? placeLink(page, at, guards[0].line ?? "")
          : el("span", { class: "muted" }, "Asked by torch itself, for no line of the program"),
      ),
      el("ul", {}, alikeGuards(guards).map(alikeRows)),
    );
  }

  function alikeRows(alike) {
    if (alike.length < 3) return alike.map((guard) => guardRow(guard));
    const [first, ...others] = alike;
    const rest = el("ul", { hidden: true });
    const button = el(
      "button",
      {
        class: "button quiet fold",
        type: "button",
        "aria-expanded": "false",
        onclick: () => {
          rest.hidden = !rest.hidden;
          button.setAttribute("aria-expanded", String(!rest.hidden));
          if (!rest.childNodes.length)
            fill(
              rest,
              others.map((guard) => guardRow(guard)),
            );
        },
      },
      `+ ${others.length} like it`,
    );
    return [guardRow(first, button), el("li", {}, rest)];
  }

  function guardRow(guard, button = null) {
    const why = (guard.why ?? "").replace(/^HINT: /, "");
    return el(
      "li",
      { class: "guard-row" },
      el(
        "div",
        { class: "guard-text" },
        el("code", {}, spelledGuard(guard.expression)),
        button && [" ", button],
        why ? el("p", { class: "muted guard-why clip", title: why }, why) : null,
      ),
      guard.left_out
        ? badge("failed", "left out", {
            card: () =>
              [
                `No call is asked it: ${guard.left_out}.`,
                ...(guard.ways ?? []).map((way) => `Runs all the same: ${way}`),
              ].join("\n"),
          })
        : null,
      guard.served
        ? badge("plain", "served alone", {
            card: () =>
              [
                `The artefact of torch.compiler.precompile serves ${guard.served} and no other value.`,
                ...guard.raises.map((way) => `Raises PrecompileError: ${way}`),
              ].join("\n"),
          })
        : null,
      guard.unguarded
        ? badge(guard.likely ? "failed" : "plain", "no guard", {
            card: () =>
              `No guard looks at it: ${guard.unguarded}. It may change, and the compiled code runs all the same.`,
          })
        : null,
      guard.value === undefined
        ? null
        : badge(guard.holds ? "good" : "failed", guard.holds ? `is ${guard.value}` : `now ${guard.value}`, {
            card: () => [
              el("p", {}, el("code", {}, guard.value)),
              el(
                "p",
                { class: "muted" },
                guard.holds
                  ? "So it was when the recording ended: the guard holds."
                  : "So it was when the recording ended: the guard does not hold any more.",
              ),
            ],
          }),
      entriesOf(guard),
    );
  }

  function entriesOf(guard) {
    const own = guard.entries.map((number) => ({ ...data.entries[number], state: "" }));
    const shown = own.length > 4 ? [own[0], null, own.at(-1)] : own;
    return el(
      "span",
      { class: "chips" },
      shown.map((entry) =>
        entry ? entryChip(page, entry) : el("span", { class: "muted", title: count(own.length, "compilation") }, "…"),
      ),
    );
  }

  fill(
    container,
    el(
      "p",
      { class: "lead" },
      "Compiled code runs only while its guards hold. Each stands under the line of the program that made it; values are those at the end of the recording.",
    ),
    el("div", { class: "toolbar" }, field, chosen, changed ? failing : null, free ? without : null, said),
    list,
  );
  draw();
}

function isPressed(button) {
  return button.getAttribute("aria-pressed") === "true";
}

/** Guards that ask the same of other numbers, together; in order. */
export function alikeGuards(guards) {
  const found = new Map();
  for (const guard of guards) {
    const shape = `${guard.expression.replace(/\d+(?:\.\d+)?/g, "#")} ${guard.holds} ${guard.left_out} ${guard.unguarded}`;
    if (!found.has(shape)) found.set(shape, []);
    found.get(shape).push(guard);
  }
  return [...found.values()];
}

/** `a == 3` of `same_value(a, 3)`. */
export function spelledGuard(expression) {
  const match = expression.match(/^same_value\((.+), ([^,()]+)\)$/);
  return match ? `${match[1]} == ${match[2]}` : expression;
}
