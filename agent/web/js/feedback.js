/** What the user says of an answer: that it is right or not, and what should be otherwise in what it takes for granted. */

import { form, hinted, iconButton, submit } from "./controls.js";
import { make } from "./dom.js";
import { say, text } from "./language.js";

const MOST_CHARS = 400;

/** Return the buttons; `accept()` and `reject(comment)` are what they do. */
export function feedbackView({ accept, reject }) {
  const [field, comment] = commentForm((words) => reject(words));
  hinted(field, "wrong_comment");
  const wrong = iconButton("thumb down", "wrong", () => {
    comment.hidden = !comment.hidden;
    wrong.setAttribute("aria-expanded", String(!comment.hidden));
    if (comment.hidden) return;
    field.focus();
    comment.scrollIntoView({ block: "nearest" });
  }, { "aria-expanded": "false" });
  const view = make("div", { class: "feedback", role: "group" }, iconButton("thumb", "right", accept), wrong, comment);
  return say(view, "feedback", {}, "aria-label");
}

/** Return the chips of an output, or null if it has none; `change(comment)`, if given, asks again with a remark. */
export function premisesView(output, change) {
  const premises = premisesOf(output);
  if (!premises.length) return null;
  const [field, comment] = commentForm((words) => {
    if (words) change(text("premise_changed", { premise: open.slice(0, MOST_CHARS), words }));
    else field.focus();
  });
  const chips = premises.map((premise) => make("button", { type: "button", class: "premise", dir: "auto", "aria-expanded": "false", title: premise,
    on: { click: () => show(premise) } }, premise));
  let open = null;
  const show = (premise) => {
    open = premise === open ? null : premise;
    comment.hidden = open === null;
    chips.forEach((each, at) => each.setAttribute("aria-expanded", String(premises[at] === open)));
    if (open === null) return;
    hinted(field, "premise_instead", { premise: open });
    field.value = "";
    field.focus();
  };
  comment.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    const at = premises.indexOf(open);
    show(open);
    chips[at].focus();
  });
  const view = make("fieldset", { class: "premises", disabled: !change }, make("ul", {}, ...chips.map((each) => make("li", {}, each))), comment);
  return say(view, "premises", {}, "aria-label");
}

/** Return a field for a remark and its form, at first hidden; `send(words)` is called with what is sent. */
function commentForm(send) {
  const field = make("input", { type: "text", maxlength: "1500", autocomplete: "off", dir: "auto" });
  return [field, form({ class: "own-words", hidden: true }, () => send(field.value.trim()), field, submit("other_answer"))];
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
