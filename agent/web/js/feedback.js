/** What the user says of an answer: that it is right, or not what was meant. */

import { make } from "./dom.js";
import { say } from "./language.js";

/** Return the buttons; `accept()` and `reject(comment)` are what they do. */
export function feedbackView({ accept, reject }) {
  const right = make("button", { type: "button", class: "quiet thumb" }, say(make("span"), "right"));
  const wrong = make("button", { type: "button", class: "quiet thumb down", "aria-expanded": "false" }, say(make("span"), "wrong"));
  const form = rejection(reject);
  right.addEventListener("click", accept);
  wrong.addEventListener("click", () => {
    form.hidden = !form.hidden;
    wrong.setAttribute("aria-expanded", String(!form.hidden));
    if (form.hidden) return;
    form.querySelector("input").focus();
    form.scrollIntoView({ block: "nearest" });
  });
  const view = make("div", { class: "feedback", role: "group" }, right, wrong, form);
  return say(view, "feedback", {}, "aria-label");
}

function rejection(reject) {
  const field = make("input", { type: "text", maxlength: "2000", autocomplete: "off", dir: "auto" });
  say(field, "wrong_comment", {}, "placeholder");
  say(field, "wrong_comment", {}, "aria-label");
  const form = make("form", { class: "own-words", hidden: true }, field, say(make("button", { type: "submit" }), "other_answer"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    reject(field.value.trim());
  });
  return form;
}
