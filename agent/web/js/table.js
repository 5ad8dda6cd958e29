/** A table of an answer: sorted by its headers, copied, saved as CSV. */

import { request } from "./api.js";
import { cellText, isNumeric, sorted } from "./cells.js";
import { asCsv, asTabs } from "./csv.js";
import { make } from "./dom.js";
import { say } from "./language.js";
import { isMeasure } from "./measures.js";
import { isCut } from "./numbers.js";
import { copyButton, fileName, saveFile } from "./save.js";

const FIRST_ROWS = 50;

/**
 * Return the view of `table`, an AnswerTable of the statement `sql`; its files are named after `title`. Where the server
 * has the rows under `path`, they are saved as Excel too.
 * Its rows are copied and saved in the order in which they stand, and with all digits.
 */
export function tableView(table, sql, { title = "", path = null } = {}) {
  const kinds = table.columns.map((name, column) => kindOf(name, table.rows.map((row) => row[column]), sql));
  const shown = { table, kinds, rows: table.rows, column: null, descending: false, all: table.rows.length <= FIRST_ROWS };
  const body = make("tbody");
  const heads = table.columns.map((name, column) => head(name, column, shown, () => draw(shown, body, heads)));
  const grid = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body);
  const region = make("div", { class: "scroll", role: "region", tabindex: "0" }, grid);
  say(region, "table", {}, "aria-label");
  draw(shown, body, heads);
  return make("div", { class: "rows" }, region, moreButton(shown, () => draw(shown, body, heads)), tools(shown, title, path));
}

function head(name, column, shown, redraw) {
  const button = make("button", { type: "button", class: "sort" }, make("bdi", {}, name));
  const cell = make("th", { scope: "col", class: shown.kinds[column].isNumeric ? "number" : null }, button);
  say(button, "sort_by", { name }, "title");
  button.addEventListener("click", () => {
    shown.descending = shown.column === column && !shown.descending;
    shown.column = column;
    shown.rows = sorted([...shown.table.rows], column, shown.descending);
    redraw();
  });
  return cell;
}

function draw(shown, body, heads) {
  const rows = shown.all ? shown.rows : shown.rows.slice(0, FIRST_ROWS);
  body.replaceChildren(...rows.map((row) => make("tr", {}, ...row.map((value, column) => cell(value, shown.kinds[column])))));
  heads.forEach((each, column) => {
    if (column === shown.column) each.setAttribute("aria-sort", shown.descending ? "descending" : "ascending");
    else each.removeAttribute("aria-sort");
  });
}

function cell(value, { isNumeric, isMeasure }) {
  const kind = isNumeric ? "number" : value === null ? "none" : null;
  const box = make("td", { class: kind, title: isCut(value) ? value : null });
  return say(box, () => cellText(value, isMeasure));
}

function kindOf(name, values, sql) {
  const measured = isMeasure(name, values, sql);
  return { isMeasure: measured, isNumeric: measured || isNumeric(values) };
}

function moreButton(shown, redraw) {
  if (shown.all) return null;
  const button = make("button", { type: "button", class: "quiet more" });
  button.addEventListener("click", () => {
    shown.all = true;
    button.remove();
    redraw();
  });
  return say(button, "more_rows", { count: shown.rows.length });
}

function tools(shown, title, path) {
  const current = () => ({ columns: shown.table.columns, rows: shown.rows });
  const count = say(make("span", { class: "count" }), "row_count", { count: shown.rows.length });
  const save = make("button", { type: "button", class: "quiet" });
  save.addEventListener("click", () => saveFile(new Blob([asCsv(current())], { type: "text/csv" }), fileName(title, ".csv")));
  return make("div", { class: "tools" }, count, copyButton(() => asTabs(current())), say(save, "csv"), path && excelButton(path, title));
}

function excelButton(path, title) {
  const button = make("button", { type: "button", class: "quiet" });
  button.addEventListener("click", async () => {
    try {
      saveFile(await (await request(`${path}.xlsx`)).blob(), fileName(title, ".xlsx"));
    } catch (error) {
      button.replaceWith(make("span", { class: "error", role: "alert" }, error.message));
    }
  });
  return say(button, "xlsx");
}
