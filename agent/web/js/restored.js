/** A conversation that the server has kept: what was said in it, and what came of that. */

import { request } from "./api.js";
import { text } from "./language.js";

const MOST_TURNS = 20;

/**
 * Return the last runs of a thread, the oldest first: what was said, as it is shown, and the output.
 * `shownRun` is among them if it is one of the last 100.
 * `chosen` is the number of the option that was chosen in the run before, `accepted` whether that one's answer was.
 * Throws a Problem, or what the signal's abort throws.
 */
export async function keptRuns(thread, signal, shownRun = null) {
  const { runs } = await got(`threads/${thread}/history`, signal);
  const count = Math.max(MOST_TURNS, runs.findIndex(({ id }) => id === shownRun) + 1);
  const last = runs.slice(0, count).reverse();
  const outputs = await Promise.all(last.map(({ id }) => got(`threads/${thread}/runs/${id}`, signal)));
  return last.map(({ said }, at) => ({ ...shown(said, outputs[at - 1]), output: outputs[at] }));
}

async function got(path, signal) {
  return (await request(path, { signal })).json();
}

function shown({ question, clarification_answer: answer, feedback }, before) {
  if (feedback) return { said: rejected(feedback), accepted: feedback.accepted };
  if (answer === undefined) return { said: question };
  const chosen = before?.clarification?.options[Number(answer) - 1];
  return { said: chosen?.label ?? answer, chosen: chosen && Number(answer) };
}

/** Return what is shown of feedback that rejects an answer. */
export function rejected({ comment }) {
  return [text("wrong"), comment].filter(Boolean).join(": ");
}
