/** An answer: what it says and takes for granted, the chart or the rows, then the statement and the details. */

import { make } from "./dom.js";
import { editorView } from "./editor.js";
import { premisesView } from "./feedback.js";
import { say, text } from "./language.js";
import { numberText, secondsText, valueText } from "./numbers.js";
import { plotView } from "./plot.js";
import { sqlView } from "./sql.js";
import { auditSteps } from "./steps.js";
import { tableView } from "./table.js";

/**
 * Return the view of an output with an answer to what was `said`; its heading, of class `focus`, takes the focus.
 * `about` has the `name` of what was asked, its `source` if one was named, and `edited(output)`, which returns the view of
 * the answer of an edited statement, if statements may be edited.
 * `change(comment)`, if given, asks again with a remark about an assumption or a definition. A draft has its reason and
 * the elements `beside` it.
 */
export function answerView(output, said, about, change, beside) {
  const top = heading(output, about.name);
  const head = output.status === "unsure"
    ? [top, make("div", { class: "draft" }, words(output), make("div", { class: "doubt" }, trustBadge(output), ...beside.filter(Boolean)))]
    : [make("div", { class: "headline" }, top, trustBadge(output)), words(output)];
  return make("div", { class: "answer" }, ...head,
    premisesView(output, change),
    plotView(output, said),
    ...shownTables(output).map((table) => tableView(table, savedAs(output, table, said))),
    explainFold(output, said, about));
}

/** Return the title line: the name of what was asked, the models that were called, and the time. */
export function heading({ audit }, name) {
  const models = new Set(audit.steps.flatMap(({ calls }) => calls.map(({ model }) => model)));
  const facts = say(make("span"), () => [name, ...models, secondsText(audit.latency_ms)].filter(Boolean).join(" · "));
  return make("h3", { class: "focus eyebrow", tabindex: "-1" }, say(make("span", { class: "visually-hidden" }), "answer_is"), " ", facts);
}

/** Return what an output says, without Markdown tables and their numbers of rows where the rows are shown beside it. */
export function wordsOf(output) {
  if (output.report) return `${output.report.title}. ${output.report.summary.text}`;
  const [table] = shownTables(output);
  if (!table) return output.answer;
  const parts = output.answer.split("\n\n");
  const count = numberText(table.rows.length);
  const isOfTable = (part, at) => part.startsWith("| ") || (parts[at - 1]?.startsWith("| ") && part.includes(count));
  return parts.filter((part, at) => !isOfTable(part, at)).join("\n\n");
}

/** Return the tables with rows; a number or a text says a single value itself. */
function shownTables({ output_type, tables }) {
  const least = ["number", "string"].includes(output_type) ? 2 : 1;
  return tables.filter(({ rows, columns }) => rows.length * columns.length >= least);
}

/** Return the name of the files of `table`, and the path of its rows on the server if they are stored there. */
function savedAs({ thread_id: thread, run_id: run, tables }, table, said) {
  const number = tables.indexOf(table) + 1;
  return { title: tables.length > 1 ? `${said} ${number}` : said, path: thread && run ? `threads/${thread}/runs/${run}/tables/${number}` : null };
}

/** Return the text: its first paragraph is large; what the badge and the chips show is not repeated. */
function words(output) {
  const [first, ...told] = wordsOf(output).split("\n\n").filter((part) => part && !isShownElsewhere(part, output));
  if (!first) return null;
  return make("div", { class: "words" }, make("p", { class: "lead", dir: "auto" }, ...withFigure(first, output)),
    // A draft may begin with what is wrong with it.
    ...told.map((part) => make("p", { dir: "auto" }, ...(output.status === "unsure" ? withFigure(part, output) : [part]))));
}

/** Return a sentence with the number that is the answer as an element, if it is there once as the page writes it. */
function withFigure(sentence, { output_type, value, tables }) {
  const shown = output_type === "number" ? valueText(value, tables[0]?.formats?.[0]) : "";
  const [before, after, ...others] = shown ? sentence.split(shown) : [];
  return after === undefined || others.length ? [sentence] : [before, make("strong", { class: "figure" }, shown), after];
}

/** Return whether a paragraph at the end of an answer only says what is in `audit`, `confidence` or `verified` too. */
function isShownElsewhere(part, { answer, audit, confidence, status, verified }) {
  if (audit.assumptions.some((each) => part.endsWith(each))) return true;
  if (!answer.endsWith(part)) return false;
  return Boolean(verified) || (status === "unsure" && confidence !== null && part.includes(confidence.reason));
}

/** Return the fold of how an answer came about: the statement, definitions with their places, notes, steps; and what it cost. */
function explainFold(output, said, { source, edited }) {
  const { audit, definitions = [], sql } = output;
  const places = definitions.map(({ name, definition, place }) => `${name} = ${definition}; ${place}`);
  const parts = [listed("definitions", places), listed("notes", audit.notes), say(make("h4"), "steps")];
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

function listed(key, texts) {
  if (!texts.length) return [];
  return [say(make("h4"), key), make("ul", { class: key }, ...texts.map((each) => make("li", { dir: "auto" }, each)))];
}

/** Return how far an answer can be trusted as a badge that shows the reason, or null if nothing is known about it. */
export function trustBadge(output) {
  const found = trustOf(output);
  if (!found) return null;
  const { level, key, by = [], reasons } = found;
  const label = say(make("span"), () => [text(key), ...by].join(" · "));
  return make("details", { class: `trust ${level}`, open: level === "unsure" },
    make("summary", {}, make("span", { class: "mark", "aria-hidden": "true" }, MARKS[level]), label),
    ...reasons.map((reason) => (typeof reason === "string"
      ? make("p", { dir: "auto" }, reason) : say(make("p", { dir: "auto" }), ...reason))));
}

const MARKS = { verified: "✓", checked: "✓", likely: "≈", unsure: "?" };

function trustOf({ audit, verified, metric, checked, chosen, confidence, status, error, sql, output_type }) {
  if (error) return null;
  const isOnlyRun = audit?.steps.some(({ node }) => node === "run_sql");
  if (isOnlyRun && !chosen) return { level: "likely", key: "edited_by_hand", reasons: [["edited_by_hand_why"]] };
  if (verified) {
    const { question, author, date, note } = verified;
    return { level: "verified", key: "trust_verified", by: [author, date].filter(Boolean), reasons: [["trust_verified_why", { question }], note].filter(Boolean) };
  }
  const reasons = confidence ? [confidence.reason] : [];
  if (status === "unsure") return { level: "unsure", key: "trust_unsure", reasons: [...reasons, ["trust_unsure_why"]] };
  if (metric) return { level: "checked", key: "trust_metric", reasons: [["trust_metric_why"], ...reasons] };
  if (checked) return { level: "checked", key: "trust_checked", reasons: [["trust_checked_why"], ...reasons] };
  if (confidence) return { level: "likely", key: "trust_likely", reasons: [...reasons, ["trust_likely_why"]] };
  if (chosen) return { level: "likely", key: "trust_chosen", reasons: [["trust_chosen_why"], ["trust_likely_why"]] };
  if (sql && output_type) return { level: "likely", key: "trust_unchecked", reasons: [["trust_unchecked_why"], ["trust_likely_why"]] };
  return null;
}
