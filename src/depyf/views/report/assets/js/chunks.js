// The data of the page: chunks of compressed JSON, inflated when they are first asked for.

const opened = new Map();

/** The data of the chunk in the element `id`, inflated when it is first asked for. */
export function chunk(id) {
  if (!opened.has(id)) opened.set(id, inflate(document.getElementById(id).textContent));
  return opened.get(id);
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The lines of a file, [text, runs] each. */
export async function linesOf(file) {
  const texts = await chunk(`chunk-texts-${file.group}`);
  return texts.files[file.file].map((number) => texts.lines[number]);
}
