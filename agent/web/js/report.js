/** A report: texts whose figures lead to the rows and the statement that they come from. */

import { heading } from "./answer.js";
import { chartView } from "./chart.js";
import { button } from "./controls.js";
import { byId, make } from "./dom.js";
import { say, text } from "./language.js";
import { saveMenu } from "./menu.js";
import { fileName, saveAs, saveFrom } from "./save.js";
import { sqlView } from "./sql.js";
import { tableView } from "./table.js";

const FILES = { html: "HTML", pdf: "PDF", md: "Markdown", json: "JSON" };
const FIRST_ROWS = 10;

/** Return the view of an output with a report about the data called `name`, and its menu; `link`, if given, leads to it. */
export function reportView(output, name, link) {
  const { title, summary, sections, limits, parts } = output.report;
  const known = new Map(parts.map((part) => [part.id, part]));
  const answered = parts.filter(({ error }) => !error).length;
  const view = make("div", { class: "answer report" },
    heading(output, name),
    make("h3", { class: "lead", dir: "auto" }, title),
    answered < parts.length ? say(make("p", { class: "error" }), "report_partial", { answered, count: parts.length }) : null,
    textView(summary, known),
    ...sections.map((section) => sectionView(section, known)),
    limits.length ? say(make("h4"), "report_limits") : null,
    limits.length ? make("ul", { class: "limits" }, ...limits.map((limit) => make("li", { dir: "auto" }, ...spans(limit, known)))) : null,
    say(make("h4"), "report_sources"),
    make("ul", { class: "sources" }, ...parts.map((part) => make("li", {}, `${part.id}: `, opening(part, part.question)))));
  const path = `threads/${output.thread_id}/runs/${output.run_id}/report`;
  const files = output.run_id ? Object.entries(FILES).map(([suffix, kind]) => [saveAs(kind), () => saveFrom(`${path}.${suffix}`, fileName(title, `.${suffix}`))]) : [];
  const menu = saveMenu(view, ...files, link);
  if (menu) view.append(make("div", { class: "toolbar" }, menu));
  return view;
}

/** Return the view of an answered question while the others are still asked. */
export function partView(part) {
  return sectionView({ title: part.question, text: { text: part.answer, figures: [] }, parts: [part.id] }, new Map([[part.id, part]]));
}

function sectionView({ title, text: words, parts }, known) {
  return make("section", { class: "section" }, make("h4", { dir: "auto" }, title), textView(words, known),
    ...parts.map((id) => evidence(known.get(id))));
}

function textView(words, known) {
  return words.text ? make("p", { class: "told", dir: "auto" }, ...spans(words, known)) : null;
}

/** Return a text whose figures open the rows that they come from. */
function spans({ text: words, figures }, known) {
  let at = 0;
  const pieces = figures.flatMap(({ start, end, part, rows }) => {
    // The server counts characters, not units of UTF-16.
    const shown = [...words].slice(start, end).join("");
    const before = [...words].slice(at, start).join("");
    at = end;
    return [before, known.has(part) ? opening(known.get(part), shown, rows) : shown];
  });
  return [...pieces, [...words].slice(at).join("")];
}

/** Return the chart of a part, or its first rows; nothing for a single value, which the text tells, and for an error. */
function evidence(part) {
  const { chart, result, question } = part;
  if (chart) return chartView(chart, question);
  if (!result || result.rows.length * result.columns.length < 2) return null;
  const first = tableView({ ...result, additive: [], rows: result.rows.slice(0, FIRST_ROWS) });
  return make("div", {}, first, result.rows.length > FIRST_ROWS ? opening(part, () => text("more_rows", { count: result.rows.length })) : null);
}

/** Return a button that shows the question, the rows and the statement of a part, and marks `rows`. */
function opening(part, words, rows = []) {
  return button(typeof words === "function" ? words : () => words, () => openPart(part, rows), { class: "link", dir: "auto", title: part.question });
}

function openPart({ question, purpose, filters, error, result, sql }, rows) {
  const dialog = byId("part-dialog");
  dialog.replaceChildren(
    make("div", { class: "board-head" }, make("h2", { id: "part-title", dir: "auto" }, question), button("review_close", () => dialog.close())),
    purpose ? make("p", { class: "hint", dir: "auto" }, purpose) : "",
    make("ul", { class: "filters" }, ...filters.map((each) => make("li", { dir: "auto" }, each))),
    error ? make("p", { class: "error", dir: "auto" }, error.message) : "",
    result ? tableView(result, { marked: rows }) : "",
    sql ? sqlView(sql) : "");
  dialog.showModal();
  dialog.querySelector(".marked")?.scrollIntoView({ block: "center" });
}

