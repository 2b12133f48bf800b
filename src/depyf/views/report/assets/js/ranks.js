// The ranks of a run beside each other: what differs is marked.

import { badge } from "./badges.js";
import { el, fill } from "./dom.js";
import { count, seconds } from "./format.js";
import { placeLink } from "./told.js";

const RANK_FACTS = [
  ["Compilations", "compilations"],
  ["Graph breaks", "breaks"],
  ["Recompilations", "recompilations"],
  ["Ran as Python", "python"],
  ["Failed", "failed"],
  ["Kernels", "kernels"],
];
const KINDS_OF_STATE = { ok: "good", broke: "break", python: "eager", failed: "failed" };

export function showRanks(container, data, page) {
  fill(
    container,
    el("p", { class: "lead" }, ranksVerdict(data)),
    data.groups.length > 1 ? [rankHeading("Groups with the same graphs and guards"), groupTable(data.groups)] : null,
    data.apart_by ? el("p", { class: "muted" }, data.apart_by) : null,
    data.waits.length
      ? [
          rankHeading("Who was late"),
          el("p", { class: "muted" }, "As the clocks of the hosts tell. The others wait in the next collective."),
          el(
            "ul",
            { class: "plain-list" },
            data.waits.map((wait) => el("li", {}, wait.text)),
          ),
        ]
      : null,
    data.groups.length > 1 || data.waits.length ? rankHeading("One rank of each group") : null,
    rankTable("Each rank", data.ranks, summaryRows(data.ranks)),
    rankHeading("Functions"),
    rankTable(
      "Functions",
      data.ranks,
      data.functions.map((row) => functionRow(row, page)),
    ),
    data.collectives.length
      ? [
          rankHeading("Collectives"),
          el("p", { class: "muted" }, "In the order of the graphs. Ranks that wait for different ones hang."),
          rankTable(
            "Collectives",
            data.ranks,
            data.collectives.map((row, index) => collectiveRow(row, index, data, page)),
          ),
        ]
      : null,
    data.apart.some((found) => !found.equal)
      ? [
          rankHeading("Where they part"),
          data.apart.filter((found) => !found.equal).map((found) => partCard(found, data.ranks[0].rank)),
        ]
      : null,
  );
}

/** All ranks, by what their logs tell: the largest group first. */
function groupTable(groups) {
  return el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Groups" },
    el(
      "table",
      { class: "table" },
      el(
        "tbody",
        {},
        groups.map((group) =>
          el(
            "tr",
            { class: group.since ? "differs" : null },
            el("th", { scope: "row" }, group.ranks),
            el("td", {}, group.since ? `since ${group.since}` : `${count(group.count, "rank")} that do the same`),
            el("td", { class: "muted" }, group.shown === null ? "not shown" : `shown as rank ${group.shown}`),
          ),
        ),
      ),
    ),
  );
}

/** Who ended the compilation of a collective last, and how long the others had waited then. */
function waitOf(found, waits) {
  const ids = new Set(found.cells.filter((cell) => cell !== null).map((cell) => cell.id));
  const wait = waits.find((one) => ids.has(one.id));
  return wait
    ? el("div", { class: "muted" }, `rank ${wait.last} was last, others waited up to ${seconds(wait.seconds)}`)
    : null;
}

/** Whether the ranks do the same, in a sentence: they do only where `depyf merge` says so, too. */
export function ranksVerdict(data) {
  const groups = data.groups ?? [];
  const collectives = data.collectives.filter((row) => row.differs).length;
  const unmatched =
    collectives && `${count(collectives, "collective")} that ${collectives === 1 ? "does" : "do"} not match`;
  if (groups.length > 1) {
    const apart = groups.slice(1).map((group) => group.ranks);
    const named = apart.slice(0, 5).join("; ") + (apart.length > 5 ? ` and ${apart.length - 5} groups more` : "");
    const verb = groups.length === 2 && groups[1].count === 1 ? "differs" : "differ";
    return `${data.count} ranks do not do the same: ${named} ${verb} from the others${unmatched ? `; ${collectives === 1 ? "there is" : "there are"} ${unmatched}` : ""}.`;
  }
  if (groups.length === 1) return `All ${data.count} ranks have the same graphs and guards, devices apart.`;
  const functions = data.functions.filter((row) => row.differs).length;
  const parted = data.apart.filter((found) => !found.equal);
  const ranks = parted.filter((found) => found.rank !== null).map((found) => found.rank);
  const differing = [
    functions && count(functions, "function"),
    unmatched,
    ranks.length &&
      `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.join(", ")} ${ranks.length === 1 ? "diverges" : "diverge"} from rank ${data.ranks[0].rank}`,
  ].filter(Boolean);
  if (differing.length) return `The ranks do not do the same: ${differing.join(", ")}.`;
  if (parted.length) return "Whether the ranks do the same is not known: they could not be compared.";
  return "All ranks compiled the same functions the same way, with the same collectives.";
}

function rankHeading(text) {
  return el("h2", { class: "part-title" }, text);
}

function rankTable(label, ranks, rows) {
  return el(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": label },
    el(
      "table",
      { class: "table rank-table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, ""),
          ranks.map(({ rank, finished }) =>
            el("th", { scope: "col" }, `rank ${rank}`, finished ? null : el("span", { class: "muted" }, " unfinished")),
          ),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}

function summaryRows(ranks) {
  const rows = RANK_FACTS.map(([title, key]) => {
    const values = ranks.map((rank) => rank[key]);
    return rankRow(
      title,
      values.map((value) => el("td", {}, value)),
      new Set(values).size > 1,
    );
  });
  return [
    ...rows,
    rankRow(
      "Compiling",
      ranks.map((rank) => el("td", {}, rank.seconds === null ? "–" : seconds(rank.seconds))),
      false,
    ),
  ];
}

function rankRow(title, cells, differs) {
  return el(
    "tr",
    { class: differs ? "differs" : null },
    el("th", { scope: "row" }, title, differs ? [" ", badge("recompile", "differs")] : null),
    cells,
  );
}

function functionRow(found, page) {
  return rankRow(
    el("span", {}, el("code", {}, found.name), " ", placeLink(page, found.at)),
    found.cells.map((cell) =>
      el(
        "td",
        {},
        cell === null
          ? el("span", { class: "muted" }, "not compiled")
          : el(
              "span",
              { class: "chips" },
              cell.slice(0, 6).map((entry) => badge(KINDS_OF_STATE[entry.state] ?? "plain", entry.id)),
              cell.length > 6 ? el("span", { class: "muted" }, `and ${cell.length - 6} more`) : null,
            ),
      ),
    ),
    found.differs,
  );
}

function collectiveRow(found, index, data, page) {
  const ranks = data.ranks;
  const library = /[\\/](?:site|dist)-packages[\\/]/.test(found.at);
  return rankRow(
    el(
      "span",
      {},
      el("span", { class: "count" }, `${index + 1} `),
      el("code", {}, found.operator),
      found.at && !library ? [" ", placeLink(page, found.at)] : null,
      waitOf(found, data.waits),
    ),
    found.cells.map((cell, at) =>
      el(
        "td",
        {},
        cell === null
          ? el("span", { class: "gap" }, "nothing here")
          : el(
              "a",
              { href: page.href("files", `rank_${ranks[at].rank}/${cell.file}`, cell.line), class: "mono" },
              cell.operator === found.operator ? "" : `${cell.operator} `,
              cell.type,
              el("span", { class: "muted" }, ` ${cell.constants}`),
            ),
      ),
    ),
    found.differs,
  );
}

function partCard(found, lowest) {
  return el(
    "section",
    { class: "card matrix-card" },
    el("h3", {}, found.rank === null ? "Not compared" : `rank ${found.rank} against rank ${lowest}`),
    el(
      "ul",
      { class: "plain-list" },
      found.events.map((event) =>
        el(
          "li",
          {},
          event.replace(/\bonly 1\b/g, `only rank ${lowest}`).replace(/\bonly 2\b/g, `only rank ${found.rank}`),
        ),
      ),
      found.parted.map((item) =>
        el(
          "li",
          {},
          item.id ? badge("plain", item.id) : null,
          ` ${item.where === "both" ? "part at" : `only on rank ${item.where === "first" ? lowest : found.rank}:`} `,
          el("code", {}, item.file),
          item.change.length ? el("pre", { class: "change" }, item.change.map(changeLine)) : null,
        ),
      ),
    ),
  );
}

/** A line of a difference, by its first letter. */
export function changeLine(line) {
  const kind = line.startsWith("+")
    ? "added"
    : line.startsWith("-")
      ? "removed"
      : line.startsWith("@@")
        ? "hunk"
        : "kept";
  return el("span", { class: `diff-line diff-${kind}` }, `${line}\n`);
}
