/** Earlier questions of the tab, by the arrow keys in the question field. */

import { keep, kept } from "./kept.js";

const MOST = 50;

/** Let the arrow keys show earlier questions in `field`; `changed` is called when its text has changed. */
export function addRecall(field, changed) {
  let asked = JSON.parse(kept("questions", "sessionStorage") ?? "[]");
  let at = asked.length;
  let draft = "";

  function put(step) {
    const next = at + step;
    if (next < 0 || next > asked.length) return false;
    if (at === asked.length) draft = field.value;
    at = next;
    field.value = asked[at] ?? draft;
    field.setSelectionRange(field.value.length, field.value.length);
    changed();
    return true;
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    const isRecalled = field.value === asked[at];
    // In a text of one's own the arrows move the cursor.
    if (event.key === "ArrowUp" && (isRecalled || !field.value) && put(-1)) event.preventDefault();
    if (event.key === "ArrowDown" && isRecalled && put(1)) event.preventDefault();
  });

  return (question) => {
    asked = [...asked.filter((each) => each !== question), question].slice(-MOST);
    at = asked.length;
    keep("questions", JSON.stringify(asked), "sessionStorage");
  };
}
