/** Values as they are written in the language of the page, by the formats of their columns: see `agent/formatting/formats.py`. */

import { current, text } from "./language.js";

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const MOMENT = /^(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}:\d{2})(?:(:\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?)?$/;
const QUARTER = /^(\d{4})-?Q([1-4])$/;
const INTERVAL = /^(-?)P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?$/;
const UNITS = ["year", "month", "week", "day", "hour", "minute", "second"];
/** The decimal digits that a double holds for sure. */
const SURE = 15;
const SECONDS = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]];
const QUANTITIES = ["number", "currency", "percent", "fraction", "scientific", "duration"];
const formats = new Map();

/** Return whether the values of a column with the format `kind` are quantities, which stand at the right. */
export function isQuantity({ kind }) {
  return QUANTITIES.includes(kind);
}

/** Return a value of a column with a format, one of those of an AnswerTable; NULL is a dash. */
export function valueText(value, { kind = "text", decimals = 0, unit = "" } = {}) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean" || (kind === "boolean" && [0, 1].includes(value))) return text(value ? "yes" : "no");
  if (["year", "quarter", "month", "date", "datetime"].includes(kind)) return momentText(value, kind);
  if (kind === "interval" || kind === "hours") return intervalText(value, kind, unit, decimals);
  if (kind === "intervals") return valueText(JSON.parse(JSON.stringify(value), (_, each) => (typeof each === "string" ? intervalText(each, "interval", unit, decimals) : each)));
  const digits = digitsOf(value);
  if (QUANTITIES.includes(kind) && digits !== null) return quantityText(digits, kind, decimals, unit);
  if (Array.isArray(value) && !value.some((each) => typeof each === "object" && each !== null)) {
    return value.map((each) => valueText(each)).join(current() === "zh" ? "、" : ", ") || "–";
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return a number that belongs to no column: a computed one has two decimals, or four digits if it is below 1. */
export function numberText(value) {
  const digits = digitsOf(value);
  if (digits === null) return valueText(value);
  const places = placesOf(value);
  if (places <= 4) return quantityText(digits, "number", places, "");
  return Math.abs(Number(value)) < 1 ? numberFormat({ maximumSignificantDigits: 4 }).format(digits) : quantityText(digits, "number", 2, "");
}

/** Return a number beside an axis or a scale, in the format of its values, with the decimals that it needs. */
export function tickText(value, format) {
  if (!isQuantity(format) || format.kind === "scientific") return valueText(value, format);
  const rounded = Number(value.toPrecision(10));
  return valueText(rounded, { ...format, decimals: placesOf(rounded) ?? 0 });
}

/** Return how many decimal places a number has; null for one with an exponent. */
function placesOf(value) {
  const digits = digitsOf(value);
  return digits === null || /e/i.test(digits) ? null : (digits.split(".")[1]?.length ?? 0);
}

/** Return the exact sum of numbers as text, or null if one has no plain digits; null values are left out. */
export function sumOf(values) {
  const digits = values.filter((value) => value !== null).map((value) => digitsOf(value) ?? "");
  if (!digits.length || !digits.every((each) => PLAIN.test(each))) return null;
  const places = Math.max(...digits.map(placesOf));
  const total = digits.reduce((sum, each) => sum + BigInt(each.replace(".", "") + "0".repeat(places - placesOf(each))), 0n);
  const plain = String(total < 0n ? -total : total).padStart(places + 1, "0");
  const point = plain.length - places;
  return (total < 0n ? "-" : "") + plain.slice(0, point) + (places ? `.${plain.slice(point)}` : "");
}

/** Return the seconds of an interval without months, and any other value as it is. */
export function quantityOf(value, { kind }) {
  const [, sign, years, months, weeks, ...parts] = (["interval", "hours"].includes(kind) && INTERVAL.exec(value)) || [];
  if (sign === undefined || Number(years ?? 0) || Number(months ?? 0)) return value;
  const seconds = parts.reduce((sum, part, at) => sum + Number(part ?? 0) * SECONDS[at][1], Number(weeks ?? 0) * 7 * SECONDS[0][1]);
  return sign ? -seconds : seconds;
}

/** Return seconds with one place, as text. */
export function secondsText(milliseconds) {
  return text("seconds", { count: quantityText(String(milliseconds / 1000), "number", 1, "") });
}

/** Return whether a value of a column is shown with fewer digits than it has. */
export function isCut(value, { kind, decimals }) {
  return QUANTITIES.includes(kind) && value !== null && (placesOf(value) ?? decimals) > decimals + (kind === "fraction" ? 2 : 0);
}

/** Return a number as text; what a double holds beyond its sure digits comes from computing: 0.1 + 0.2 is 0.3. */
export function digitsOf(value) {
  if (typeof value === "number") return String(Number.isSafeInteger(value) ? value : Number(value.toPrecision(SURE)));
  return typeof value === "string" && NUMBER.test(value) ? value : null;
}

/** Return `digits`, which `Intl` reads as an exact decimal number. */
function quantityText(digits, kind, decimals, unit) {
  const places = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  switch (kind) {
    case "currency": return numberFormat({ style: "currency", currency: unit, ...places }).format(digits);
    case "percent": return numberFormat({ style: "percent", ...places }).format(/e/i.test(digits) ? Number(digits) / 100 : `${digits}e-2`);
    case "fraction": return numberFormat({ style: "percent", ...places }).format(digits);
    case "scientific": return numberFormat({ notation: "scientific", maximumFractionDigits: decimals }).format(digits);
    case "duration": return numberFormat({ style: "unit", unit: unit.replace(/s$/, ""), unitDisplay: "long", ...places }).format(digits);
    default: return numberFormat(unit === "ungrouped" ? { ...places, useGrouping: false } : places).format(digits);
  }
}

/** Thousands of cells ask for few formats. */
function numberFormat(options) {
  const key = current() + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(current(), options));
  return formats.get(key);
}

function momentText(value, kind) {
  if (kind === "month" && typeof value === "number") return dateText(`2000-${String(value).padStart(2, "0")}-01`, { month: "long" });
  const [, known, quarter] = QUARTER.exec(value) ?? [];
  if (known !== undefined) return text("quarter", { quarter, year: known });
  const [, year, month, day = "01", clock = "00:00", seconds = ""] = MOMENT.exec(value) ?? [];
  if (year === undefined) return String(value);
  if (kind === "year") return year;
  if (kind === "quarter") return text("quarter", { quarter: Math.ceil(month / 3), year });
  const iso = `${year}-${month}-${day}`;
  if (kind === "month") return dateText(iso, { year: "numeric", month: "long" });
  const shown = dateText(iso, { dateStyle: "medium" });
  const mark = current() === "zh" ? " " : ", ";
  return kind === "date" ? shown : `${shown}${mark}${clock}${seconds === ":00" ? "" : seconds}`;
}

/** Return a day without what a language writes behind the year. */
function dateText(iso, options) {
  const parts = new Intl.DateTimeFormat(current(), { timeZone: "UTC", ...options }).formatToParts(new Date(iso));
  const end = parts.at(-1).type === "literal" && parts.at(-2)?.type === "year" ? -1 : undefined;
  return parts.slice(0, end).map((part) => part.value).join("");
}

function intervalText(value, kind, unit, decimals) {
  const digits = digitsOf(quantityOf(value, { kind }));
  const isCounted = digits !== null && (unit || digitsOf(value) !== null);
  const parts = isCounted ? inUnits(Number(digits), kind, unit || "seconds", unit ? decimals : placesOf(digits)) : writtenUnits(value);
  if (!parts.length) return String(value);
  const shown = parts.filter(([amount]) => Number(amount));
  const last = parts.at(-1)[1];
  const none = [0, kind === "hours" && last === "day" ? "hour" : last, 0];
  // Of months and fractions of seconds, which come from computing, the two longest units are shown.
  const most = !isCounted && digits === null && shown.at(-1)?.[2] ? 2 : undefined;
  const texts = (shown.length ? shown : [none]).slice(0, most).map(([amount, of, places]) => quantityText(String(Number(amount)), "duration", places, of));
  return texts.join(/\s/.test(texts[0]) ? " " : "");
}

/** Return the units of an interval as they are written; none for another text. */
function writtenUnits(value) {
  const [, sign, ...amounts] = INTERVAL.exec(value) ?? [];
  return amounts.map((amount, at) => [sign + amount, UNITS[at], placesOf(String(Number(amount)))]).filter((_, at) => amounts[at]);
}

/** Return an interval in seconds as units down to `smallest`; the first one has the sign. */
function inUnits(seconds, kind, smallest, decimals) {
  const units = kind === "hours" ? SECONDS.slice(1) : SECONDS;
  const last = units.findIndex(([unit]) => unit === smallest);
  const step = units[last][1] / 10 ** decimals;
  let left = Math.round(Math.abs(seconds) / step) * step;
  const found = units.slice(0, last + 1).map(([unit, size], at) => {
    const amount = at < last ? Math.floor(left / size) : Number((left / size).toFixed(decimals));
    left -= amount * size;
    return [amount, unit, placesOf(String(amount))];
  });
  const first = found.find(([amount]) => amount);
  if (first && seconds < 0) first[0] = -first[0];
  return found;
}
