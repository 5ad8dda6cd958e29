/** An answer: what it says, the chart, the rows and the statement that prove it. */

import { chartView } from "./chart.js";
import { make } from "./dom.js";
import { costLine, explainFold } from "./explain.js";
import { say } from "./language.js";
import { isLabel } from "./measures.js";
import { numberText } from "./numbers.js";
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
    ...output.charts.map((chart) => chartView(chart, said)),
    ...tables.map((table) => tableView(table, output.sql)),
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

function words(output) {
  const text = wordsOf(output);
  if (!text) return null;
  const kind = output.error ? "words error" : "words";
  return make("p", { class: kind, dir: "auto", role: output.error ? "alert" : null }, text);
}
