/** An answer: what it says, the chart or the rows, then what it takes for granted, the statement and the details. */

import { make } from "./dom.js";
import { explainFold } from "./explain.js";
import { say } from "./language.js";
import { valueText } from "./numbers.js";
import { plotView } from "./plot.js";
import { premisesView } from "./premises.js";
import { sqlView } from "./sql.js";
import { tableView } from "./table.js";
import { trustBadge } from "./trust.js";

/**
 * Return the view of an output with an answer to what was `said`; its heading, of class `focus`, takes the focus.
 * `change(comment)`, if given, asks again with a remark about an assumption or a definition.
 */
export function answerView(output, steps, said, change) {
  const tables = shownTables(output);
  return make("div", { class: "answer" },
    make("div", { class: "headline" }, say(make("h3", { class: "focus eyebrow", tabindex: "-1" }), "answer_is"), trustBadge(output)),
    figure(output),
    words(output),
    premisesView(output, change),
    plotView(output, said),
    ...tables.map((table) => tableView(table, savedAs(output, table, said))),
    output.sql ? make("details", { class: "statement" }, make("summary", {}, "SQL"), sqlView(output.sql)) : null,
    explainFold(output, steps));
}

function figure({ output_type, value, tables }) {
  if (output_type !== "number") return null;
  return say(make("p", { class: "figure" }), () => valueText(value, tables[0]?.formats?.[0]));
}

/** Return what an output says, without Markdown tables where the rows are shown beside it. */
export function wordsOf(output) {
  return shownTables(output).length ? output.answer.split("\n\n").filter((part) => !part.startsWith("| ")).join("\n\n") : output.answer;
}

function shownTables({ output_type, tables }) {
  return ["number", "string"].includes(output_type) ? [] : tables.filter((table) => table.rows.length);
}

/** Return the name of the files of `table`, and the path of its rows on the server if they are stored there. */
function savedAs({ thread_id: thread, run_id: run, tables }, table, said) {
  const number = tables.indexOf(table) + 1;
  return { title: tables.length > 1 ? `${said} ${number}` : said, path: thread && run ? `threads/${thread}/runs/${run}/tables/${number}` : null };
}

/** Return the text: its first paragraph is large; what the badge and the chips show is not repeated. */
function words(output) {
  const [first, ...others] = wordsOf(output).split("\n\n").filter(Boolean);
  if (!first) return null;
  const told = others.filter((part) => !isShownElsewhere(part, output));
  return make("div", { class: "words" }, make("p", { class: "lead", dir: "auto" }, first),
    ...told.map((part) => make("p", { dir: "auto" }, part)));
}

/** Return whether a paragraph at the end of an answer only says what is in `audit`, `confidence` or `verified` too. */
function isShownElsewhere(part, { answer, audit, confidence, status, verified }) {
  if (audit.assumptions.some((each) => part.endsWith(each))) return true;
  if (!answer.endsWith(part)) return false;
  return Boolean(verified) || (status === "unsure" && confidence !== null && part.includes(confidence.reason));
}
