/** How an answer came about: the statement, definitions with their places, notes, steps; and what it cost. */

import { make } from "./dom.js";
import { editorView } from "./editor.js";
import { say } from "./language.js";
import { secondsText } from "./numbers.js";
import { sqlView } from "./sql.js";
import { auditSteps } from "./steps.js";

/** Return the fold of the answer to what was `said`; for `about` see `answerView`. */
export function explainFold(output, said, { source, edited }) {
  const { audit, definitions = [], sql } = output;
  const places = definitions.map(({ name, definition, place }) => `${name} = ${definition}; ${place}`);
  const parts = [named("definitions", places), named("notes", audit.notes), heading("steps")];
  return make("details", { class: "explain" }, say(make("summary"), sql ? "explain_sql" : "explain"),
    sql ? sqlView(sql) : null, sql && edited ? editorView(output, said, source, edited) : null,
    ...parts.flat(), auditSteps(audit), costLine(audit));
}

/** Return the line of calls, tokens, money and time. */
function costLine(audit) {
  const parts = [
    say(make("span"), "calls", { count: audit.llm_calls }),
    say(make("span"), "tokens", { read: audit.prompt_tokens, written: audit.completion_tokens }),
    audit.llm_cost_usd === null ? say(make("span"), "price_unknown")
      : audit.llm_cost_usd ? make("span", {}, `$${audit.llm_cost_usd.toFixed(4)}`) : null,
    say(make("span"), () => secondsText(audit.latency_ms)),
    say(make("span", { title: audit.trace_id }), "trace", { id: audit.trace_id.slice(0, 8) }),
  ];
  return make("p", { class: "cost" }, ...parts);
}

function named(key, texts) {
  if (!texts.length) return [];
  return [heading(key), make("ul", { class: key }, ...texts.map((each) => make("li", { dir: "auto" }, each)))];
}

function heading(key) {
  return say(make("h4"), key);
}
