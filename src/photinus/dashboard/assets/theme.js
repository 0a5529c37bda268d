// Light or dark: as the system says, or as the reader chose.

import { el } from "/static/dom.js";

const KEY = "photinus-theme";
const NAMES = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };
const system = matchMedia("(prefers-color-scheme: dark)");

const stored = () => {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto"; // storage may be switched off
  }
};

let choice = stored() in NAMES ? stored() : "auto";

export const isDark = () => (choice === "auto" ? system.matches : choice === "dark");

/** Called after every change of the theme; pictures on a canvas have to be drawn again. */
export const onTheme = (task, signal) => window.addEventListener("photinus:theme", task, { signal });

const apply = () => {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  window.dispatchEvent(new CustomEvent("photinus:theme"));
};

export const themeSwitch = () => {
  const button = el("button", { type: "button", class: "ghost icon", id: "theme" });
  const label = () => {
    button.textContent = SIGNS[choice];
    button.title = NAMES[choice];
    button.setAttribute("aria-label", `${NAMES[choice]}. Change`);
  };
  button.addEventListener("click", () => {
    const order = Object.keys(NAMES);
    choice = order[(order.indexOf(choice) + 1) % order.length];
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Then it holds for this page only.
    }
    apply();
    label();
  });
  label();
  return button;
};

export const startTheme = () => {
  apply();
  system.addEventListener("change", apply);
};
