/** Light or dark: as the system has it, unless the user chooses. */

import { keep, kept } from "./kept.js";

const CHANGED = "datasphinx-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

/** Let `select` choose between the system's theme (""), "light" and "dark". */
export function addThemeSwitch(select) {
  select.value = kept("theme") ?? "";
  select.addEventListener("change", () => {
    keep("theme", select.value);
    apply(select.value);
  });
  system.addEventListener("change", () => document.dispatchEvent(new Event(CHANGED)));
}

/** Call `listener` whenever the colours change. */
export function onTheme(listener) {
  document.addEventListener(CHANGED, listener);
}

function apply(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  document.dispatchEvent(new Event(CHANGED));
}

apply(kept("theme") ?? "");
