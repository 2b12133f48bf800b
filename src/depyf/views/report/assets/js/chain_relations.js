// Which lines of the panes of a compilation belong together.  No element of the page is touched here.

/** A compilation of the data of the panel, ready to be asked: `direct` and `around` are maps of line -> set of numbers. */
export function relationsOf(compilation) {
  const sets = compilation.sets.map((numbers) => new Set(numbers));
  const linesOfPane = (flat) => {
    const lines = new Map();
    for (let at = 0; at < flat.length; at += 2) lines.set(flat[at], sets[flat[at + 1]]);
    return lines;
  };
  const panes = compilation.panes.map((pane) => ({
    ...pane,
    direct: linesOfPane(pane.direct),
    around: linesOfPane(pane.around),
    names: new Map(pane.names),
  }));
  return { panes, operations: compilation.operations, places: compilation.places };
}

/** The numbers that a line is; where it is nothing itself, those that it leads to. */
export function numbersAt(pane, line) {
  return pane.direct.get(line) ?? pane.around.get(line) ?? new Set();
}

/** Both sets' numbers. */
export function commonNumbers(one, other) {
  return new Set([...one].filter((number) => other.has(number)));
}

/** For each pane the lines that are relatives of `numbers`: `direct`, and `around` for the rest. */
export function relatives(relations, numbers) {
  return relations.panes.map((pane) => {
    const direct = touching(pane.direct, numbers);
    const known = new Set(direct);
    return { direct, around: touching(pane.around, numbers).filter((line) => !known.has(line)) };
  });
}

function touching(lines, numbers) {
  if (numbers.size === 0) return [];
  return [...lines].filter(([, own]) => [...numbers].some((number) => own.has(number))).map(([line]) => line);
}

/** The names on the lines that are direct relatives, each once, by pane. */
export function namesBetween(relations, found) {
  return relations.panes.map((pane, index) => [
    ...new Set(found[index].direct.map((line) => pane.names.get(line)).filter((name) => name !== undefined)),
  ]);
}

/** For each pane line -> colour (0 to 11): lines of one line of the program have one colour through all panes. */
export function coloursOf(relations, colours = 12) {
  const byPlace = new Map();
  const colourOf = relations.operations.map(([, place, line]) => {
    const key = `${place}:${line}`;
    if (!byPlace.has(key)) byPlace.set(key, byPlace.size % colours);
    return byPlace.get(key);
  });
  return relations.panes.map((pane) => {
    const found = Array.from({ length: colours }, () => []);
    for (const [line, numbers] of pane.direct) {
      const own = new Set([...numbers].map((number) => colourOf[number]));
      if (own.size === 1) found[[...own][0]].push(line);
    }
    return found;
  });
}

/** The index of the compilation that is opened first: the first one that has a graph. */
export function openedFirst(compilations) {
  return Math.max(
    0,
    compilations.findIndex(({ panes }) => panes.some(({ kind }) => kind === "captured")),
  );
}

/**
 * The compilation and the rest of an address `0/1/Forward_graph/12` (parts); the one opened first where it names none.
 * `lost` says that it names one that is not there.
 */
export function addressed(compilations, parts) {
  let at = 0;
  let rank = "";
  if (parts[0]?.startsWith("rank_")) {
    rank = parts[0];
    at = 1;
  }
  for (const length of [3, 2]) {
    const id = parts.slice(at, at + length).join("/");
    const index = compilations.findIndex((one) => idOf(one) === id && (!rank || one.rank === rank));
    if (index >= 0) return { index, rest: parts.slice(at + length), lost: false };
  }
  return { index: openedFirst(compilations), rest: [], lost: parts.length > 0 };
}

/** The compile id in an address: `0/1`, after a reset `0/1r1`. */
export function idOf({ compile_id: id, generation }) {
  return generation ? `${id}r${generation}` : id;
}

/** The parts of the address of a line. */
export function partsOfLine(compilation, pane, line) {
  const parts = idOf(compilation).split("/");
  return compilation.rank ? ["chain", compilation.rank, ...parts, pane.id, line] : [...parts, pane.id, line];
}

/** Why values had to tell which operations the kernels compute; whether a cache had it is what the caches answered. */
export function inferredBecause({ cached }) {
  const found = "that follows here from the values that the kernels read and write.";
  return cached
    ? `A cache of torch had this compilation, and keeps no record of what each kernel computes: ${found}`
    : `torch's record does not say of every kernel what it computes: ${found}`;
}
