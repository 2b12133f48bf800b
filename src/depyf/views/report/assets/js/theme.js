// Light and dark: what the system says, until a person chooses.

const STORED = "depyf-report-theme";

/** Show the page in the theme chosen earlier, or in the system's, and follow the system until one is chosen. */
export function startTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => setTheme(storedTheme() ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", follow);
  follow();
}

/** Change to the other theme, and remember it where the browser lets us. */
export function toggleTheme() {
  const chosen = currentTheme() === "dark" ? "light" : "dark";
  setTheme(chosen);
  try {
    localStorage.setItem(STORED, chosen);
  } catch {
    // a page in a notebook's frame has no storage
  }
}

export function currentTheme() {
  return document.documentElement.dataset.theme;
}

function setTheme(which) {
  document.documentElement.dataset.theme = which;
}

function storedTheme() {
  try {
    const found = localStorage.getItem(STORED);
    return found === "dark" || found === "light" ? found : null;
  } catch {
    return null;
  }
}
