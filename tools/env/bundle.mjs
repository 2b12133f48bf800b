// The script of a page on standard output: `node bundle.mjs MAIN BANNER`, see javascript.py.

import { build } from "esbuild";

const [main, banner] = process.argv.slice(2);
const made = await build({
  entryPoints: [main],
  banner: { js: banner },
  bundle: true,
  charset: "utf8",
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  target: "es2022",
  write: false,
});
process.stdout.write(made.outputFiles[0].contents);
