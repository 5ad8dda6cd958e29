/** The run of a graph as it happens: server-sent events over a POST, which EventSource cannot send. */

import { lost, postJson, problemFrom } from "./api.js";

/** The server says something at least every 15 s. */
const SILENCE_MS = 45_000;

/** The share of a load that is done before each stage. */
const STAGES = { read: 0, examine: 1 / 3, write: 2 / 3 };

/**
 * Yield `{event, data}` for each ended step, for what the run waits for, for the progress of a file that it reads, for each
 * answered question of a report, and at last the output of a run; the run of a given statement has this alone.
 * Throws a Problem, or what the signal's abort throws.
 */
export async function* run(graph, input, signal) {
  const response = await postJson(["report", "sql"].includes(graph) ? graph : `${graph}/events`, input, signal);
  if (graph === "sql") yield { event: "output", data: await response.json() };
  else yield* events(response);
}

/** Call `showShare` with the share of a load that is done, and return its output. Throws as `run` does. */
export async function loaded(response, showShare) {
  for await (const { event, data } of events(response)) {
    if (event === "progress") showShare(shareDone(data));
    if (event === "output") return data;
  }
}

/** Return the share of a load that is done at an event of its progress. */
export function shareDone({ stage, share }) {
  return STAGES[stage] + share / 3;
}

async function* events(response) {
  for await (const block of blocks(response.body)) {
    const { event, data } = parsed(block);
    if (event === "problem") throw problemFrom(data);
    if (event) yield { event, data };
    if (event === "output") return;
  }
  throw lost();
}

/** Yield the text of each event; comments, which keep the connection alive, come as events without a name. */
async function* blocks(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await heard(reader);
      if (done) return;
      // A line may end in two characters that come in two pieces.
      const pieces = (text + value).replace(/\r\n/g, "\n").split("\n\n");
      text = pieces.pop();
      yield* pieces;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function heard(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(lost()), SILENCE_MS);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (error) {
    throw error.name === "AbortError" || error.code ? error : lost();
  } finally {
    clearTimeout(timer);
  }
}

function parsed(block) {
  const lines = block.split("\n").map((line) => line.match(/^(\w+): ?(.*)$/s)).filter(Boolean);
  const of = (name) => lines.filter((line) => line[1] === name).map((line) => line[2]);
  const data = of("data").join("\n");
  return { event: of("event")[0], data: data ? JSON.parse(data) : null };
}
