/** An answer: what it says, the chart, the rows and the statement that prove it. */

import { make } from "./dom.js";
import { costLine, explainFold } from "./explain.js";
import { say } from "./language.js";
import { isLabel } from "./measures.js";
import { numberText } from "./numbers.js";
import { plotView } from "./plot.js";
import { sqlView } from "./sql.js";
import { tableView } from "./table.js";

/** Return the view of an output with an answer or an error to what was `said`; its heading, of class `focus`, takes the focus. */
export function answerView(output, steps, said) {
  const tables = shownTables(output);
  return make("div", { class: "answer" },
    say(make("h3", { class: "focus eyebrow", tabindex: "-1" }), "answer_is"),
    figure(output),
    words(output),
    definitions(output),
    certainty(output),
    plotView(output, said),
    ...tables.map((table) => tableView(table, output.sql, savedAs(output, table, said))),
    output.sql ? sqlView(output.sql) : null,
    explainFold(output.audit, steps),
    costLine(output.audit));
}

function figure({ output_type, value, tables }) {
  if (output_type !== "number") return null;
  const plain = isLabel(tables[0]?.columns[0] ?? "");
  return say(make("p", { class: "figure" }), () => (plain ? String(value) : numberText(value)));
}

/** Return the terms, metrics and codes that the statement follows, each with its place in the files. */
function definitions({ definitions = [] }) {
  if (!definitions.length) return null;
  return make("ul", { class: "definitions" }, ...definitions.map(({ name, definition, place }) =>
    make("li", { dir: "auto" }, `${name} = ${definition}; ${place}`)));
}

function certainty({ confidence }) {
  return confidence ? make("p", { class: "certainty", dir: "auto", title: confidence.reason }, confidence.word) : null;
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

function words(output) {
  const text = wordsOf(output);
  if (!text) return null;
  const kind = output.error ? "words error" : "words";
  return make("p", { class: kind, dir: "auto", role: output.error ? "alert" : null }, text);
}
