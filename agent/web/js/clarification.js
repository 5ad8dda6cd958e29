/** A question back: its options with what each leads to. It may be answered in own words in the field of questions, too. */

import { make } from "./dom.js";
import { say } from "./language.js";
import { numberText, valueText } from "./numbers.js";

/**
 * Return the view of a clarifying question, under `why` it is asked again, if it is.
 * `answer(given, shown)` is called once, with what is sent and what is shown.
 */
export function clarificationView(asked, why, answer) {
  const fields = say(make("fieldset"), "options", {}, "aria-label");
  const buttons = asked.options.map((option, at) => optionButton(option, at + 1, answer));
  fields.append(make("div", { class: "options" }, ...buttons));
  const heading = make("h3", { tabindex: "-1", class: "focus", dir: "auto" }, asked.question);
  return make("div", { class: "asked-back" }, why, heading, fields);
}

/** Choose the option that has the number `key` in the question that is open, if one is. */
export function chooseByKey(key) {
  if (/^[1-9]$/.test(key)) document.querySelectorAll(".asked-back fieldset:enabled .option")[Number(key) - 1]?.click();
}

/** Return the alternatives of a draft as options, or null if it has none; `take(alternative)`, if given, takes one, once. */
export function alternativesView({ alternatives = [] }, take) {
  if (!alternatives.length) return null;
  const buttons = alternatives.map((each) => optionButton({ ...each, reading: null }, null, () => take(each)));
  return make("fieldset", { class: "alternatives", disabled: !take }, say(make("legend"), "alternatives"), ...buttons);
}

/** Return the button of an option, which calls `chosen` with what is sent and what is shown; only one of a group is chosen. */
function optionButton(option, number, chosen) {
  const reading = option.reading && option.reading !== option.label ? option.reading : null;
  return make("button", { type: "button", class: "option", on: { click: (event) => {
    event.currentTarget.classList.add("chosen");
    event.currentTarget.closest("fieldset").disabled = true;
    chosen(String(number), option.label);
  } } },
    number && make("kbd", { "aria-hidden": "true" }, String(number)),
    make("span", { class: "label", dir: "auto" }, option.label),
    reading && make("span", { class: "reading", dir: "auto" }, reading),
    option.preview && preview(option.preview));
}

function preview(found) {
  if (found.rows === 0) {
    return say(make("span", { class: "preview" }), "preview_nothing");
  }
  const count = `${numberText(found.rows)}${found.more ? "+" : ""}`;
  if (found.rows === 1 && found.first !== null) return make("bdi", { class: "preview" }, valueText(found.first, found.format));
  return say(make("span", { class: "preview" }), "row_count", { count });
}
