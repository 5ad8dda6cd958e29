/** The text that the model is writing, before the server has checked it. */

import { announce } from "./announce.js";
import { make } from "./dom.js";
import { say, text } from "./language.js";

/**
 * Return the view of the drafts of a run: `element`, `add`, which takes what an event of text has, and `note`, which
 * returns a note for the answer that came in the end if it replaced a draft, else null.
 * The text is in no live region, so that a screen reader does not say every piece of it.
 */
export function draftView() {
  let words = make("p", { class: "words", dir: "auto" });
  const element = make("div", { class: "draft", "aria-busy": "true", hidden: true }, words);
  let current = 0;
  return {
    element,
    add({ draft, text: piece }) {
      if (draft !== current) {
        if (current) {
          words = words.cloneNode();
          element.replaceChildren(noteOf("draft_rejected"), words);
        }
        announce(text(current ? "draft_rejected" : "draft_writing"));
        current = draft;
        element.hidden = false;
      }
      words.append(piece);
    },
    note(answer) {
      if (current > 1) return noteOf("draft_rejected");
      return current && !answer.includes(words.textContent.trim()) ? noteOf("draft_replaced") : null;
    },
  };
}

function noteOf(key) {
  return say(make("p", { class: "replaced" }), key);
}
