/** Values of a result: how they are written and in what order they come. */

import { current } from "./language.js";
import { numberText } from "./numbers.js";

const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Return a value as text; NULL is a dash. Digits are grouped in fractions and measures: other integers may be years and ids.
 * A measure has at least `places` decimal places.
 */
export function cellText(value, isMeasure = false, places = 0) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "object") return JSON.stringify(value);
  const isFraction = typeof value === "number" && !Number.isInteger(value);
  return isMeasure || isFraction ? numberText(value, isMeasure ? places : 0) : String(value);
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

/** Return whether a value is a number, or text of one. */
export function isNumber(value) {
  return typeof value === "number" || (typeof value === "string" && DECIMAL.test(value));
}

function byNumber(one, other) {
  return Number(one) - Number(other);
}
