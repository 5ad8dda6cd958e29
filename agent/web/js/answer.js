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
  const single = ["number", "string"].includes(output.output_type);
  const tables = single ? [] : output.tables.filter((table) => table.rows.length);
  return make("div", { class: "answer" },
    say(make("h3", { class: "focus eyebrow", tabindex: "-1" }), "answer_is"),
    figure(output),
    words(output, tables),
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

function words(output, tables) {
  // A plain answer of several rows is a table in Markdown, and the table stands below.
  if (tables.length && output.answer.startsWith("| ")) return null;
  const kind = output.error ? "words error" : "words";
  return make("p", { class: kind, dir: "auto", role: output.error ? "alert" : null }, output.answer);
}
