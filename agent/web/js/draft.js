/** The text that the model is writing, before the server has checked it. */

import { announce } from "./announce.js";
import { make } from "./dom.js";
import { say, text } from "./language.js";

/**
 * Return the view of the drafts of a run: `element`, `add`, which takes what an event of text has, and `replaced`,
 * which tells whether a draft was rejected, the last one included, if `answer` came in the end.
 * The text is in no live region, so that a screen reader does not say every piece of it.
 */
export function draftView() {
  const words = make("p", { class: "words", dir: "auto" });
  const element = make("div", { class: "draft", "aria-busy": "true", hidden: true }, words);
  let current = 0;
  return {
    element,
    add({ draft, text: piece }) {
      if (draft !== current) {
        if (current) element.replaceChildren(replacedNote(), words);
        announce(text(current ? "draft_replaced" : "draft_writing"));
        current = draft;
        words.textContent = "";
        element.hidden = false;
      }
      words.append(piece);
    },
    replaced: (answer) => current > 1 || (current === 1 && !answer.includes(words.textContent.trim())),
  };
}

/** Return the note that a draft was replaced. */
export function replacedNote() {
  return say(make("p", { class: "replaced" }), "draft_replaced");
}
