/** Numbers as they are written in the language of the page. */

import { current, text } from "./language.js";

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/;
/** The decimal digits that a double holds for sure. */
const SURE = 15;
const PLACES = 4;
const formats = new Map();

/**
 * Return a number, or a text of digits where a double would round it, with its digits grouped.
 * None is lost but those of a fraction without an end, which is cut to four places; one with fewer than `places` gets zeros.
 */
export function numberText(value, places = 0) {
  const digits = typeof value === "number" ? shortDigits(value) : value;
  const [, sign, whole, found = ""] = PLAIN.exec(digits) ?? [];
  if (whole === undefined) return digits;
  const fraction = found.padEnd(places, "0");
  const { format, point } = formatOf(current());
  return sign + format.format(BigInt(whole)) + (fraction ? point + fraction : "");
}

/** Return how many decimal places `numberText` shows of a value. */
export function placesOf(value) {
  return PLAIN.exec(typeof value === "number" ? shortDigits(value) : value)?.[3]?.length ?? 0;
}

/** Return the exact sum of numbers as text, or null if one has no plain digits; null values are left out. */
export function sumOf(values) {
  const digits = values.filter((value) => value !== null).map((value) => (typeof value === "number" ? shortDigits(value) : value));
  if (!digits.length || !digits.every((each) => PLAIN.test(each))) return null;
  const places = Math.max(...digits.map(placesOf));
  const total = digits.reduce((sum, each) => sum + BigInt(each.replace(".", "") + "0".repeat(places - placesOf(each))), 0n);
  const plain = String(total < 0n ? -total : total).padStart(places + 1, "0");
  const point = plain.length - places;
  return (total < 0n ? "-" : "") + plain.slice(0, point) + (places ? `.${plain.slice(point)}` : "");
}

/** Return seconds with one place, as text. */
export function secondsText(milliseconds) {
  const tenths = new Intl.NumberFormat(current(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return text("seconds", { count: tenths.format(milliseconds / 1000) });
}

/** Return whether a value is shown with fewer digits than it has. */
export function isCut(value) {
  return typeof value === "number" && shortDigits(value) !== String(value);
}

/** What a double holds beyond its sure digits comes from computing: 0.1 + 0.2 is 0.3, and 1 / 3 has no end. */
function shortDigits(value) {
  if (length(String(value)) <= SURE) return String(value);
  const sure = String(Number(value.toPrecision(SURE)));
  if (length(sure) < SURE) return sure;
  return Math.abs(value) < 10 ** -PLACES ? value.toPrecision(PLACES) : String(Number(value.toFixed(PLACES)));
}

/** Return how a language groups digits, and what stands before a fraction in it; thousands of cells ask. */
function formatOf(language) {
  if (!formats.has(language)) {
    const format = new Intl.NumberFormat(language);
    const point = format.formatToParts(0.5).find((part) => part.type === "decimal").value;
    formats.set(language, { format, point });
  }
  return formats.get(language);
}

/** Return how many significant digits a number is written with. */
function length(digits) {
  return digits.replace(/e.*/, "").replace(/[-.]/g, "").replace(/^0+/, "").length;
}
