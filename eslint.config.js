// What the linter asks of the report's JavaScript.  Text of a program never becomes markup: no way to parse HTML, no eval.

const browser =
  "window document location history navigator localStorage matchMedia getComputedStyle requestAnimationFrame " +
  "cancelAnimationFrame requestIdleCallback setTimeout clearTimeout queueMicrotask performance console Node Element " +
  "HTMLElement Event KeyboardEvent CustomEvent MutationObserver ResizeObserver IntersectionObserver URL URLSearchParams " +
  "Blob Response TextDecoder TextEncoder DecompressionStream CompressionStream atob btoa CSS";

const MARKUP =
  "insertAdjacentHTML document.write outerHTML innerHTML srcdoc DOMParser createContextualFragment setHTMLUnsafe";

const forbidden = MARKUP.split(" ").flatMap((name) => {
  const last = name.split(".").pop();
  return [
    {
      selector: `MemberExpression[property.name="${last}"]`,
      message: `${last} parses markup: use el() and text nodes`,
    },
    { selector: `Literal[value="${last}"]`, message: `${last} parses markup: use el() and text nodes` },
  ];
});

const rules = {
  "no-undef": "error",
  "no-unused-vars": "error",
  "no-var": "error",
  "prefer-const": "error",
  eqeqeq: ["error", "always"],
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-script-url": "error",
  "no-shadow": "error",
  "no-restricted-globals": [
    "error",
    "fetch",
    "XMLHttpRequest",
    "WebSocket",
    "EventSource",
    "DOMParser",
    "eval",
    "name",
    "event",
  ],
  "no-restricted-syntax": ["error", ...forbidden, "ExportDefaultDeclaration", "ExportAllDeclaration"],
  "no-unreachable": "error",
  "no-fallthrough": "error",
  "no-dupe-keys": "error",
  "no-const-assign": "error",
  "no-redeclare": "error",
  "no-unsafe-optional-chaining": "error",
  "no-self-compare": "error",
  "no-constant-condition": "error",
  "no-loss-of-precision": "error",
  "array-callback-return": "error",
  "no-console": "error",
};

export default [
  {
    files: ["src/depyf/views/report/assets/js/**/*.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "module",
      globals: Object.fromEntries(browser.split(" ").map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules,
  },
  {
    files: ["tests/js/**/*.js", "eslint.config.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "module",
      globals: Object.fromEntries(
        "process console setTimeout URL Response Blob CompressionStream DecompressionStream TextEncoder TextDecoder atob btoa globalThis"
          .split(" ")
          .map((name) => [name, "readonly"]),
      ),
    },
    rules: { ...rules, "no-restricted-syntax": "off" },
  },
];
