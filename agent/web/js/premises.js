/** What an answer takes for granted: its assumptions, definitions, values and filters, as chips that can be changed. */

import { make } from "./dom.js";
import { say, text } from "./language.js";

const MOST_CHARS = 400;

/** Return the chips of an output, or null if it has none; `change(comment)`, if given, asks again with a remark. */
export function premisesView(output, change) {
  const premises = premisesOf(output);
  if (!premises.length) return null;
  const field = make("input", { type: "text", maxlength: "1000", autocomplete: "off", dir: "auto" });
  const label = make("label", { dir: "auto" });
  const form = make("form", { hidden: true }, label, make("div", { class: "own-words" },
    field, say(make("button", { type: "submit" }), "other_answer")));
  label.append(make("span"));
  const chips = premises.map((premise) =>
    make("button", { type: "button", class: "premise", dir: "auto", "aria-expanded": "false", title: premise }, premise));
  let open = null;
  const show = (premise) => {
    open = premise === open ? null : premise;
    form.hidden = open === null;
    chips.forEach((each, at) => each.setAttribute("aria-expanded", String(premises[at] === open)));
    if (open === null) return;
    say(label.firstChild, "premise_instead", { premise: open });
    say(field, "premise_instead", { premise: open }, "aria-label");
    field.value = "";
    field.focus();
  };
  chips.forEach((each, at) => each.addEventListener("click", () => show(premises[at])));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = field.value.trim();
    if (words) change(text("premise_changed", { premise: open.slice(0, MOST_CHARS), words }));
    else field.focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    const at = premises.indexOf(open);
    show(open);
    chips[at].focus();
  });
  const view = make("fieldset", { class: "premises", disabled: !change }, make("ul", {}, ...chips.map((each) => make("li", {}, each))), form);
  return say(view, "premises", {}, "aria-label");
}

/** Return the texts of what an output takes for granted. */
function premisesOf({ audit, definitions = [], filters = [], verified, error }) {
  if (error) return [];
  return [...new Set([
    ...audit.assumptions,
    ...definitions.map(({ name, definition }) => `${name} = ${definition}`),
    ...Object.entries(verified?.parameters ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...filters,
  ])];
}
