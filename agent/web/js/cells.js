/** Values of a result: how they are written and in what order they come. */

import { current } from "./language.js";

const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Return a value of a table as text. Whole numbers may be years and ids, and are not grouped; NULL is a dash. */
export function cellText(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return JSON.stringify(value);
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return numberText(value);
}

/** Return a number that stands alone, grouped as in the language of the page. */
export function numberText(value) {
  if (value !== 0 && Math.abs(value) < 0.0001) return value.toPrecision(4);
  return new Intl.NumberFormat(current(), { maximumFractionDigits: 4 }).format(value);
}

/** Return whether all values of a column are numbers, also such as come as text because a double would round them. */
export function isNumeric(values) {
  const known = values.filter((value) => value !== null);
  return known.some((value) => typeof value === "number") && known.every(isNumber);
}

/** Return the rows in the order of one column; those without a value come last either way. */
export function sorted(rows, column, descending) {
  const values = rows.map((row) => row[column]);
  const compare = isNumeric(values) ? byNumber : new Intl.Collator(current(), { numeric: true }).compare;
  const known = rows.filter((row) => row[column] !== null);
  const ordered = known.sort((one, other) => {
    const order = compare === byNumber ? byNumber(one[column], other[column])
      : compare(cellText(one[column]), cellText(other[column]));
    return descending ? -order : order;
  });
  return [...ordered, ...rows.filter((row) => row[column] === null)];
}

function isNumber(value) {
  return typeof value === "number" || (typeof value === "string" && DECIMAL.test(value));
}

function byNumber(one, other) {
  return Number(one) - Number(other);
}
