/** Menus: what opens below a summary, and closes with a choice, Escape or a click elsewhere. */

import { chartItems } from "./chart.js";
import { button } from "./controls.js";
import { make } from "./dom.js";
import { say } from "./language.js";
import { tableItems } from "./table.js";

/** Return the menu that copies and saves the tables and charts of `view`, followed by `others`; null if it would be empty. */
export function saveMenu(view, ...others) {
  const items = () => [...tableItems(view), ...chartItems(view), ...others].filter(Boolean);
  return items().length ? menuView(items) : null;
}

/** Return the menu of `items()`: elements, and texts with what they do. */
export function menuView(items) {
  const list = make("div", { class: "menu-items" });
  const opening = make("summary", {}, "⋯");
  const menu = make("details", { class: "menu" }, say(say(opening, "more", {}, "aria-label"), "more", {}, "title"), list);
  const chosen = (work) => () => {
    closeMenus();
    work();
  };
  menu.addEventListener("toggle", () => {
    if (menu.open) list.replaceChildren(...items().map((each) => (Array.isArray(each) ? button(each[0], chosen(each[1])) : each)));
  });
  return menu;
}

/** Close the menus that do not contain `target`, and return whether one was open; without a target its summary gets the focus. */
export function closeMenus(target = null) {
  const open = [...document.querySelectorAll("details.menu[open]")].filter((each) => !each.contains(target));
  for (const each of open) {
    each.open = false;
    if (!target) each.firstElementChild.focus();
  }
  return open.length > 0;
}
