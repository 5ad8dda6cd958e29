/** Which columns hold measures, whose digits are grouped; an id, a year or a code is none. */

import { isNumber } from "./cells.js";
import { tokensOf } from "./sql.js";

/** Names of what is no measure, whatever its values are: `agent.answers.text` has the same. */
const LABEL = /(^|[^a-z])(id|ids|year|code|zip)([^a-z]|$)|год|номер|код|индекс|年|号|码/i;
const COMPUTES = /^(SUM|COUNT|AVG|MEDIAN)$/i;
const NOT_ADDITIVE = /^(OVER|ROLLUP|CUBE|GROUPING|UNION|WITH)$/i;
const NAMED_SO = /^(sum|count|avg)$|^(sum|count|avg)\s*\(|^count_star/i;

/** Return whether a column's name says that it holds no measure. */
export function isLabel(name) {
  return LABEL.test(name);
}

/** Return whether a column has fractions, or is counted, summed or averaged by the statement `sql`, if there is one. */
export function isMeasure(name, values, sql) {
  const known = values.filter((value) => value !== null);
  if (isLabel(name) || !known.length || !known.every(isNumber)) return false;
  return known.some((value) => typeof value === "number" && !Number.isInteger(value)) || NAMED_SO.test(name) || isComputed(name, sql ?? "");
}

/**
 * Return whether the values of a column add up over the rows of `sql`: each is a sum or a count of a group.
 * An average, a count of distinct values, a ratio, and the rows of subtotals and subqueries do not.
 */
export function isAdditive(name, sql) {
  const words = wordsIn(sql ?? "");
  if (isLabel(name) || words.some((word) => NOT_ADDITIVE.test(word)) || words.filter((word) => /^SELECT$/i.test(word)).length !== 1) return false;
  const end = words.findIndex((word, at) => /^AS$/i.test(word) && unquoted(words[at + 1] ?? "") === name.toLowerCase());
  return end > 0 && addsUp(words.slice(beginOf(words, end), end));
}

function addsUp(words) {
  if (words[1] !== "(" || closeOf(words, 1) !== words.length - 1) return false;
  const inner = words.slice(2, -1);
  if (/^(SUM|COUNT)$/i.test(words[0])) return !/^DISTINCT$/i.test(inner[0] ?? "");
  if (!/^(ROUND|COALESCE)$/i.test(words[0])) return false;
  const close = closeOf(inner, 1);
  return inner[1] === "(" && (close === inner.length - 1 || inner[close + 1] === ",") && addsUp(inner.slice(0, close + 1));
}

/** Return where the bracket closes that opens at `open`, or -1. */
function closeOf(words, open) {
  let depth = 0;
  for (let at = open; at < words.length; at += 1) {
    depth += words[at] === "(" ? 1 : words[at] === ")" ? -1 : 0;
    if (depth === 0) return at;
  }
  return -1;
}

function wordsIn(sql) {
  return tokensOf(sql).filter((word) => word.trim() && !/^(--|\/\*)/.test(word));
}

/** Return whether each expression that has the name `name` in a statement counts, sums or averages. */
function isComputed(name, sql) {
  const words = wordsIn(sql);
  const ends = [...words.keys()].filter((at) => /^AS$/i.test(words[at]) && unquoted(words[at + 1] ?? "") === name.toLowerCase());
  return ends.length > 0 && ends.every((end) => computes(words.slice(beginOf(words, end), end)));
}

function computes(words) {
  return words.some((word, at) => COMPUTES.test(word) && words[at + 1] === "(");
}

/** Return where the expression begins that ends before `end`. */
function beginOf(words, end) {
  let depth = 0;
  for (let at = end - 1; at >= 0; at -= 1) {
    if (words[at] === ")") depth += 1;
    else if (depth === 0 && /^([,(]|SELECT|DISTINCT)$/i.test(words[at])) return at + 1;
    else if (words[at] === "(") depth -= 1;
  }
  return 0;
}

function unquoted(word) {
  return word.replace(/^["`]|["`]$/g, "").replace(/""/g, '"').toLowerCase();
}
