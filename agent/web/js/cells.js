/** The order of the values of a result. */

import { current } from "./language.js";

const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Return the rows in the order of one column; those without a value come last either way. */
export function sorted(rows, column, descending) {
  const known = rows.filter((row) => row[column] !== null);
  const byText = new Intl.Collator(current(), { numeric: true }).compare;
  const compare = known.every((row) => isNumber(row[column])) ? (one, other) => Number(one) - Number(other)
    : (one, other) => byText(asText(one), asText(other));
  const ordered = known.sort((one, other) => compare(one[column], other[column]) * (descending ? -1 : 1));
  return [...ordered, ...rows.filter((row) => row[column] === null)];
}

/** Return whether a value is a number, or text of one. */
function isNumber(value) {
  return typeof value === "number" || (typeof value === "string" && DECIMAL.test(value));
}

function asText(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
