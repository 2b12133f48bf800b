// What a file of a dump is called in a list, and its place there: the order in which torch goes through its stages.

const OF_FUNCTIONS = { full_code: "Dispatcher", original_code: "Original code" };
const KINDS = { transformed_code: "Transformed code", index: "Index" };

/** A short title of a file, which says what its name says: `After post-grad 1`, `cpp_fused_gelu_1`, `Transformed code`. */
export function titleOf(entry) {
  const plain = entry.file.replace(/^rank_\d+\//, "");
  if (entry.kind === "kernel_source") return plain.replace(/^.*\.kernel_\d+\.(?=.)/, "").replace(/\.\w+$/, "");
  if (entry.kind === "layers") return `${titleOfStage(plain.split(".")[1] ?? "")} layers`.trim();
  if (entry.stage) return titleOfStage(entry.stage) + (entry.index ? ` ${entry.index}` : "");
  const of = /_for_(.+?)(?:_\d+)?\.\w+$/.exec(plain);
  if (of && OF_FUNCTIONS[entry.kind]) return `${OF_FUNCTIONS[entry.kind]} of ${of[1]}`;
  if (KINDS[entry.kind]) return KINDS[entry.kind];
  return plain.replace(/^__compiled_fn_\w+?\./, "");
}

/** `After post-grad` of `AFTER_POST_GRAD`. */
export function titleOfStage(stage) {
  if (stage === "kernel") return "Wrapper";
  const words = stage
    .toLowerCase()
    .replaceAll("_", " ")
    .replace(/ graph$/, "")
    .replace(/\b(pre|post) grad\b/, "$1-grad");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Files in the order of torch's stages (`stages`, by name), then by name. */
export function inOrder(files, stages) {
  const place = (entry) => {
    const found = stages.indexOf(entry.stage || (entry.kind === "layers" ? "Captured_Graph" : entry.kind));
    return found < 0 ? stages.length : found;
  };
  return [...files].sort(
    (one, other) =>
      place(one) - place(other) ||
      (one.index ?? 0) - (other.index ?? 0) ||
      one.file.localeCompare(other.file, "en", { numeric: true }),
  );
}
