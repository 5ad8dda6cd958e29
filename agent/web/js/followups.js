/** Questions that follow an answer, below the last one. */

import { request } from "./api.js";
import { make } from "./dom.js";
import { say } from "./language.js";

/**
 * Return the list of questions that follow the answer of an output, or null if there are none.
 * `ask(question)` is called with the one that is clicked; the signal stops the request.
 */
export async function followUpsView({ thread_id: thread, run_id: run }, ask, signal) {
  const questions = await read(`threads/${thread}/runs/${run}/questions`, signal);
  if (!questions.length) return null;
  const items = questions.map((question) => make("li", {},
    make("button", { type: "button", class: "quiet", dir: "auto", on: { click: () => ask(question) } }, question)));
  return say(make("ul", { class: "follow-ups" }, ...items), "follow_ups", {}, "aria-label");
}

/** Return the questions; without the server there are none, and the page works without them. */
async function read(path, signal) {
  try {
    return (await (await request(path, { asksKey: false, signal })).json()).questions;
  } catch {
    return [];
  }
}
