/** Controls: buttons, choices, fields, forms, and what opens below a line. */

import { announce, make } from "./dom.js";
import { say, text } from "./language.js";

/** Return a button, a quiet one unless `attributes` say otherwise. */
export function button(key, listener, attributes = {}) {
  return say(make("button", { type: "button", class: "quiet", ...attributes, on: { click: listener } }), key);
}

/** Return a button that shows a sign, and has the text of `key` as its name. */
export function signButton(sign, key, facts, listener, attributes = {}) {
  return named(make("button", { type: "button", class: "small", ...attributes, on: { click: listener } }, sign), key, facts);
}

/** Return a button with an icon, a class of the style sheet; beside others in a row its text is only its name. */
export function iconButton(icon, key, listener, attributes = {}) {
  const made = make("button", { type: "button", class: `quiet icon ${icon}`, ...attributes, on: { click: listener } }, say(make("span"), key));
  return say(made, key, {}, "title");
}

/** Let the text of `key` be the name of an element, which the pointer shows too. Return it. */
export function named(element, key, facts = {}) {
  return say(say(element, key, facts, "aria-label"), key, facts, "title");
}

/** Let the text of `key` be the name of a field and stand in it while it is empty. Return it. */
export function hinted(field, key, facts = {}) {
  return say(say(field, key, facts, "aria-label"), key, facts, "placeholder");
}

/** Return a button whose first click asks to click again. */
export function confirmed(key, sureKey, listener, attributes = {}) {
  let isSure = false;
  const made = button(key, () => {
    if (isSure) return listener();
    isSure = true;
    say(made, sureKey);
    announce(text(sureKey));
  }, attributes);
  made.addEventListener("blur", () => {
    isSure = false;
    say(made, key);
  });
  return made;
}

/** Return the choice among `options`, each a value and the key of its text; `changed(value)` is called with the chosen one. */
export function choice(options, value, changed = () => {}, attributes = {}) {
  const select = make("select", { ...attributes, on: { change: () => changed(select.value) } },
    ...options.map(([each, key]) => say(make("option", { value: each }), key)));
  select.value = String(value);
  return select;
}

/** Return `control` below its label, which does not name what can be chosen. */
export function labelled(key, control) {
  return make("label", { class: "field" }, say(make("span"), key), say(control, key, {}, "aria-label"));
}

/** Return a labelled field. */
export function field(key, attributes) {
  return labelled(key, make("input", { autocomplete: "off", ...attributes }));
}

/** Return a box to check, before its label. */
export function checkbox(key, attributes, changed = () => {}) {
  return make("label", { class: "check" }, make("input", { type: "checkbox", ...attributes, on: { change: ({ target }) => changed(target.checked) } }), say(make("span"), key));
}

/** Return a form that calls `send()`; its button is disabled until that has ended, and what it throws is said at the end. */
export function form(attributes, send, ...children) {
  const problem = make("p", { hidden: true });
  return make("form", { ...attributes, on: { submit: async (event) => {
    event.preventDefault();
    const pressed = event.currentTarget.querySelector("[type=submit]");
    pressed.disabled = problem.hidden = true;
    try {
      await send();
    } catch (error) {
      problem.hidden = false;
      showError(problem, error);
    }
    pressed.disabled = false;
  } } }, ...children, problem);
}

/** Return the button that sends a form. */
export function submit(key, attributes = {}) {
  return say(make("button", { type: "submit", ...attributes }), key);
}

/** Say what went wrong in `place`. */
export function showError(place, { message }) {
  place.replaceChildren(make("span", { class: "error", role: "alert" }, message));
}

/** Return `content` below a line that opens it. */
export function fold(key, content) {
  return make("details", {}, say(make("summary"), key), content);
}
