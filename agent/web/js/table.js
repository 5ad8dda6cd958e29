/** A table of an answer: sorted by its headers, filtered, added up, copied, saved as CSV and Excel. */

import { button, hinted } from "./controls.js";
import { make } from "./dom.js";
import { current, say } from "./language.js";
import { digitsOf, isCut, isQuantity, quantityOf, sumOf, valueText } from "./numbers.js";
import { copyButton, fileName, saveAs, saveFile, saveFrom } from "./save.js";

const FIRST_ROWS = 50;
const FILTERED_FROM = 10;
const DECIMAL = /^-?\d+(\.\d+)?$/;
// A spreadsheet evaluates a cell that begins with one of these, also as a full-width, small or superscript form, and
// ignores white space, invisible characters and an opening quote before it. "|" and "%" begin commands in some of them.
const FORMULA = /^[=+\-@|%\u2212\u207a\u207b\u207c\ufe62\ufe63\ufe66\ufe6b\uff05\uff0b\uff0d\uff1d\uff20\uff5c]/;
const IGNORED = /^[\s\p{C}\p{Z}"]*/u;

// In many locales spreadsheets separate cells by semicolons, some by tabs, and then quotes inside a line do not count:
// what follows one of these may begin a cell. "- " begins the line of a list.
const INNER_FORMULA = /([;\t\r\n\u0085\u2028\u2029][\s\p{C}\p{Z}"]*)(?=[=@\uff1d\uff20\ufe66\ufe6b]|[+\-\uff0b\uff0d\u2212](?!\s))/gu;

const NUMBER = /^[+\-\u2212]?(\d[\d.,\u00a0\u202f]*|[.,]\d+)([eE][+-]?\d+)?\s?%?$/;
// A time in ISO 8601: Excel takes one for a text unless a space is before the clock.
const TIME = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)$/;
/** What is shown of tables, by their views. */
const tables = new WeakMap();

/**
 * Return the view of `table`, an AnswerTable; its files are named after `title`. Where the server has the rows under
 * `path`, they are saved as Excel too.
 * Its rows are copied and saved in the order in which they stand, without those that are filtered out, and with all digits.
 * Rows at the places `marked` are shown as such.
 */
export function tableView(table, { title = "", path = null, marked = [] } = {}) {
  const formats = table.columns.map((_, column) => table.formats?.[column] ?? { kind: "text" });
  const shown = { table, formats, rows: table.rows, filter: "", column: null, descending: false, all: table.rows.length <= FIRST_ROWS || marked.some((at) => at >= FIRST_ROWS),
    marked: new Set(marked.map((at) => table.rows[at])) };
  const count = make("span", { class: "count", role: "status" });
  const body = make("tbody");
  const more = shown.all ? null : button("more_rows", () => {
    shown.all = true;
    redraw();
  }, { class: "quiet more" });
  const heads = table.columns.map((name, column) => head(name, column, shown, () => redraw()));
  const sums = sumRow(shown);
  const redraw = () => draw(shown, { body, heads, sums, count, more });
  const grid = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body, sums && make("tfoot", {}, sums));
  const region = make("div", { class: "scroll", role: "group", tabindex: "0" }, grid);
  say(region, "table", {}, "aria-label");
  redraw();
  const view = make("div", { class: "rows" }, filterField(shown, redraw), region, make("div", { class: "tools" }, count, more));
  tables.set(view, { shown, title, path });
  return view;
}

/** Return what a menu has for the tables in `view`: elements, and texts with what they do. */
export function tableItems(view) {
  const found = [...view.querySelectorAll(":scope > .rows")].map((each) => tables.get(each));
  if (!found.length) return [];
  const asShown = ({ shown }) => ({ columns: shown.table.columns, rows: shown.rows });
  const csv = (each) => saveFile(new Blob([asCsv(asShown(each))], { type: "text/csv" }), fileName(each.title, ".csv"));
  return [copyButton(() => found.map((each) => asTabs(asShown(each))).join("\n\n")), [saveAs("CSV"), () => found.forEach(csv)],
    found.every(({ path }) => path) && [saveAs("Excel"), () => found.forEach(({ path, title }) => saveFrom(`${path}.xlsx`, fileName(title, ".xlsx")))]];
}

function head(name, column, shown, redraw) {
  const sort = button(() => name, () => {
    Object.assign(shown, { column, descending: shown.column === column && !shown.descending });
    redraw();
  }, { class: "sort", dir: "auto" });
  return make("th", { scope: "col", "aria-label": name, class: isQuantity(shown.formats[column]) ? "number" : null }, say(sort, "sort_by", { name }, "title"));
}

function filterField(shown, redraw) {
  if (shown.table.rows.length <= FILTERED_FROM) return null;
  const field = make("input", { type: "search", class: "filter", autocomplete: "off", dir: "auto" });
  field.addEventListener("input", () => {
    shown.filter = field.value.trim().toLowerCase();
    redraw();
  });
  return hinted(field, "filter_rows");
}

/** Set the rows that are shown, by the filter and the order that were chosen. */
function select(shown) {
  const { table, formats, filter, column, descending } = shown;
  const has = (row) => row.some((value, at) => valueText(value, formats[at]).toLowerCase().includes(filter) || String(value).toLowerCase().includes(filter));
  const rows = filter ? table.rows.filter(has) : [...table.rows];
  shown.rows = column === null ? rows : sorted(rows, column, descending);
}

function draw(shown, { body, heads, sums, count, more }) {
  select(shown);
  const rows = shown.all ? shown.rows : shown.rows.slice(0, FIRST_ROWS);
  body.replaceChildren(...rows.map((row) => make("tr", { class: shown.marked.has(row) && "marked" }, ...row.map((value, column) => cell(value, shown.formats[column])))));
  heads.forEach((each, column) => {
    if (column === shown.column) each.setAttribute("aria-sort", shown.descending ? "descending" : "ascending");
    else each.removeAttribute("aria-sort");
  });
  const all = shown.table.rows.length;
  say(count, shown.filter ? "rows_of" : "row_count", { count: shown.rows.length, all });
  if (more) {
    more.hidden = shown.all || shown.rows.length <= FIRST_ROWS;
    say(more, "more_rows", { count: shown.rows.length });
  }
  if (sums) fillSums(sums, shown);
}

function cell(value, format) {
  const box = make("td", { class: isQuantity(format) ? "number" : value === null ? "none" : null, title: isCut(value, format) ? value : null });
  return say(box, () => valueText(value, format));
}

/** Return the row of sums, or null if no column adds up, or the first one, which has its label, does. */
function sumRow({ table, formats }) {
  const { additive = [] } = table;
  if (table.rows.length < 2 || additive.includes(0) || !additive.length) return null;
  return make("tr", {}, ...formats.map((format, column) => (column === 0
    ? say(make("th", { scope: "row" }), "sum_of_rows") : make("td", { class: isQuantity(format) ? "number" : null }))));
}

function fillSums(sums, { table, rows, formats }) {
  for (const column of table.additive) {
    const sum = sumOf(rows.map((row) => quantityOf(row[column], formats[column])));
    say(sums.children[column], () => (sum === null ? "" : valueText(sum, formats[column])));
  }
}

/** Return the rows in the order of one column; those without a value come last either way. */
function sorted(rows, column, descending) {
  const known = rows.filter((row) => row[column] !== null);
  const byText = new Intl.Collator(current(), { numeric: true }).compare;
  const compare = known.every((row) => DECIMAL.test(row[column])) ? (one, other) => Number(one) - Number(other)
    : (one, other) => byText(asText(one), asText(other));
  const ordered = known.sort((one, other) => compare(one[column], other[column]) * (descending ? -1 : 1));
  return [...ordered, ...rows.filter((row) => row[column] === null)];
}

function asText(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return a table as CSV (RFC 4180), as `agent/answers/export.py` does, with the mark by which spreadsheets know UTF-8. */
function asCsv(table) {
  // Readers skip a line without anything.
  const lines = [table.columns, ...table.rows].map((row) => row.map(quoted).join(",") || '""');
  return `\uFEFF${lines.join("\r\n")}\r\n`;
}

/** Return a table as lines of cells between tabs, as spreadsheets take it from the clipboard. */
function asTabs(table) {
  return [table.columns, ...table.rows].map((row) => row.map(inOneCell).join("\t")).join("\n");
}

function quoted(value) {
  const text = withoutFormulas(value);
  return /[",;\t\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function inOneCell(value) {
  return withoutFormulas(value).replace(/[\t\r\n]+/g, " ");
}

/** Return a cell as text that no spreadsheet evaluates: behind an apostrophe a formula stays text. */
function withoutFormulas(value) {
  if (value === null) return "";
  if (typeof value === "number") return digitsOf(value);
  const text = asText(value).replace(TIME, "$1 $2");
  if (NUMBER.test(text)) return text;
  const ignored = text.match(IGNORED)[0];
  const rest = text.slice(ignored.length).replace(INNER_FORMULA, "$1'");
  return `${/^[\t\r\n]/.test(text) || FORMULA.test(rest) ? "'" : ""}${ignored}${rest}`;
}
