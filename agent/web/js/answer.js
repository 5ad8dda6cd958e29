/** An answer: what it says, the chart, the rows and the statement that prove it. */

import { numberText } from "./cells.js";
import { chartView } from "./chart.js";
import { make } from "./dom.js";
import { costLine, explainFold } from "./explain.js";
import { say } from "./language.js";
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
    ...tables.map(tableView),
    output.sql ? sqlView(output.sql) : null,
    explainFold(output.audit, steps),
    costLine(output.audit));
}

function figure(output) {
  if (output.output_type !== "number") return null;
  const value = typeof output.value === "number" ? numberText(output.value) : String(output.value);
  return make("p", { class: "figure" }, value);
}

function words(output, tables) {
  // A plain answer of several rows is a table in Markdown, and the table stands below.
  if (tables.length && output.answer.startsWith("| ")) return null;
  const kind = output.error ? "words error" : "words";
  return make("p", { class: kind, dir: "auto", role: output.error ? "alert" : null }, output.answer);
}
