/** Rows as text for other programs. */

import { digitsOf } from "./numbers.js";

// A spreadsheet evaluates a cell that begins with one of these, also as a full-width, small or superscript form, and
// ignores white space, invisible characters and an opening quote before it. "|" and "%" begin commands in some of them.
const FORMULA = /^[=+\-@|%\u2212\u207a\u207b\u207c\ufe62\ufe63\ufe66\ufe6b\uff05\uff0b\uff0d\uff1d\uff20\uff5c]/;
const IGNORED = /^[\s\p{C}\p{Z}"]*/u;

// In many locales spreadsheets separate cells by semicolons, some by tabs, and then quotes inside a line do not count:
// what follows one of these may begin a cell. "- " begins the line of a list.
const INNER_FORMULA = /([;\t\r\n\u0085\u2028\u2029][\s\p{C}\p{Z}"]*)(?=[=@\uff1d\uff20\ufe66\ufe6b]|[+\-\uff0b\uff0d\u2212](?!\s))/gu;

const NUMBER = /^[+\-\u2212]?(\d[\d.,\u00a0\u202f]*|[.,]\d+)([eE][+-]?\d+)?\s?%?$/;

/** Return a table as CSV (RFC 4180), with the mark by which spreadsheets know UTF-8. */
export function asCsv(table) {
  const lines = [table.columns, ...table.rows].map((row) => row.map(quoted).join(","));
  return `\uFEFF${lines.join("\r\n")}\r\n`;
}

/** Return a table as lines of cells between tabs, as spreadsheets take it from the clipboard. */
export function asTabs(table) {
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
  if (typeof value === "boolean") return String(value);
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (NUMBER.test(text)) return text;
  const ignored = text.match(IGNORED)[0];
  const rest = text.slice(ignored.length).replace(INNER_FORMULA, "$1'");
  return `${/^[\t\r\n]/.test(text) || FORMULA.test(rest) ? "'" : ""}${ignored}${rest}`;
}
