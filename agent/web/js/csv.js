/** Rows as text for other programs. */

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

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
  const text = harmless(value);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function inOneCell(value) {
  return harmless(value).replace(/[\t\r\n]+/g, " ");
}

/** A spreadsheet runs text that begins like a formula; behind an apostrophe it stays text. */
function harmless(value) {
  if (value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
