/** Controls of dialogs: buttons, fields, and what opens below a line. */

import { announce } from "./announce.js";
import { make } from "./dom.js";
import { say, text } from "./language.js";

/** Return a button; with `facts`, the text of `${key}_one` is its name for screen readers. */
export function button(key, listener, facts = null) {
  const made = say(make("button", { type: "button", class: "quiet", on: { click: listener } }), key);
  return facts ? say(made, `${key}_one`, facts, "aria-label") : made;
}

/** Return a button whose first click asks to click again. */
export function confirmed(key, sureKey, listener) {
  let isSure = false;
  const made = button(key, () => {
    if (isSure) return listener();
    isSure = true;
    say(made, sureKey);
    announce(text(sureKey));
  });
  made.addEventListener("blur", () => {
    isSure = false;
    say(made, key);
  });
  return made;
}

/** Return `control` below its label. */
export function labelled(key, control) {
  return make("label", { class: "field" }, say(make("span"), key), control);
}

/** Return a labelled field. */
export function field(key, attributes) {
  return labelled(key, make("input", { autocomplete: "off", ...attributes }));
}

/** Return `content` below a line that opens it. */
export function fold(key, content) {
  return make("details", {}, say(make("summary"), key), content);
}
