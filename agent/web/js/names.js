/** The names along the axes of a chart and at the ends of lines. All but periods are shown: bars lie where their names do not fit below them. */

import { valueText } from "./numbers.js";

const NAME_WIDTH = 120;
const MARGIN = 64;
const GAP = 12;
/** The part of their place that bars of several series take: the rest separates groups. */
const GROUPED = 0.8;
/** The part of the height of bars that a label takes. */
const LABEL_SHARE = 0.1;
/** The least distance of slanted names, and of rows. */
const SLANTED = 15;
const ROW = 26;
const MOST_ROWS = 60;
/** Up to as many lines have their names at their ends, in a place that is at least as wide. */
const MOST_ENDS = 6;
const ENDS_WIDTH = 480;
/** A line of a legend, what an entry has besides its name, and the most lines. */
const LEGEND_LINE = 24;
const LEGEND_ENTRY = 42;
const MOST_LEGEND_LINES = 5;
/** The width of a pie with the lines to its names. */
const PIE = 210;
/** The least height of a chart. */
const HEIGHT = 288;
/** Points of a line that are closer have no marks. */
const MARKED = 9;
const CALENDAR = ["year", "month", "date", "datetime"];
const pen = document.createElement("canvas").getContext("2d");

/**
 * Return the option of `chart`, an AnswerChart, for a place of this width and font, and the height that it needs.
 * Two places with the same `form` show it in the same way.
 */
export function withNames({ type, option }, width, font) {
  pen.font = font;
  const lies = type === "bar" && isStanding(option) && !isCalendar(option)
    && !(fits(option.xAxis.data, width) && (option.series.length > 1 || fits(shownValues(option), width)));
  const turned = lies ? swapped(option) : option;
  const { xAxis: x, yAxis: y, series } = turned;
  const rows = y?.type === "category" && y.data.length <= MOST_ROWS ? y.data.length : 0;
  const below = x?.type !== "category" || (isCalendar(option) && !fits(x.data, width)) ? "some" : placeOf(x.data, width);
  const beside = series.every((each) => each.type === "bar" && !each.stack) ? series.length : 1;
  const shown = { ...turned,
    ...(rows && x.type === "value" && lying(turned, width)),
    ...(rows && x.type !== "value" && { yAxis: { ...y, axisLabel: { ...y.axisLabel, interval: 0 } } }),
    ...(below === "upright" && { xAxis: { ...x, axisLabel: { ...x.axisLabel, interval: 0 } } }),
    ...(below === "slanted" && slanted(turned, width)) };
  const named = isOfBars(shown) ? withValues(shown, width) : withEnds({ ...shown, series: series.map((each) => withMarks(each, width)) }, width);
  const lines = hasLegend(named, width) ? linesOf(named.legend.data, width) : 0;
  const height = rows ? Math.ceil(rows * ROW * Math.max(1, 0.7 * beside)) + 96 : lines > 1 && HEIGHT;
  return { option: lines ? withLegend(named, lines) : named, height: height && height + Math.max(0, lines - 1) * LEGEND_LINE,
    form: [lies, below, splitsOf(width), width >= ENDS_WIDTH, lines, named.series[0].label?.show].join(" ") };
}

/** Return whether there are bars alone, each with a name. */
function isOfBars({ series, xAxis, yAxis }) {
  return series.every(({ type }) => type === "bar") && [xAxis, yAxis].some((axis) => axis?.type === "category");
}

/** Return whether names stand in a legend: those of a pie only where they do not fit beside it. */
function hasLegend({ legend, series }, width) {
  if (series[0]?.type !== "pie") return legend && legend.show !== false;
  return Math.max(...legend.data.map((name) => pen.measureText(name).width)) > (width - PIE) / 2;
}

/** Return how many lines a legend of these names has; 1 if they are too many, and it is scrolled. */
function linesOf(names, width) {
  let lines = 1;
  let left = width;
  for (const entry of names.map((name) => pen.measureText(name).width + LEGEND_ENTRY)) {
    if (entry > left && left < width) [lines, left] = [lines + 1, width];
    left -= entry;
  }
  return lines > MOST_LEGEND_LINES ? 1 : lines;
}

function withLegend({ legend, grid, series, ...option }, lines) {
  const added = (lines - 1) * LEGEND_LINE;
  return { ...option, legend: { ...legend, show: true, type: lines > 1 ? "plain" : legend.type },
    ...(grid && { grid: { ...grid, bottom: grid.bottom + added } }),
    series: series.map((each) => (each.type === "pie" ? { ...each, bottom: added + LEGEND_LINE } : each)) };
}

/** Return a series with a mark at each point of a line or at none; a point beside a gap is seen by its mark alone. */
function withMarks(series, width) {
  const { type, data } = series;
  const isClose = type === "line" && (width - MARGIN) / data.length < MARKED;
  return isClose && data.every((each) => [each].flat().at(-1) !== null) ? { ...series, showSymbol: false } : series;
}

function isStanding({ series, xAxis, yAxis }) {
  return series.every(({ type }) => type === "bar") && xAxis.type === "category" && yAxis.type === "value" && xAxis.data.length <= MOST_ROWS;
}

function isCalendar({ formats }) {
  return CALENDAR.includes(formats?.xAxis?.kind);
}

function nameWidth(name) {
  return Math.min(NAME_WIDTH, pen.measureText(name).width);
}

function fits(names, width) {
  return Math.max(...names.map(nameWidth)) + GAP <= (width - MARGIN) / names.length;
}

/** Return how names stand below a chart: upright, slanted, or some of them only. */
function placeOf(names, width) {
  if (fits(names, width)) return "upright";
  return (width - MARGIN) / names.length >= SLANTED ? "slanted" : "some";
}

/** Return the axis of slanted names, and the grid with room for them: the first one begins to the left of its place. */
function slanted({ xAxis, grid }, width) {
  const depths = xAxis.data.map((name) => nameWidth(name) * Math.SQRT1_2);
  const axisLabel = { ...xAxis.axisLabel, interval: 0, rotate: 45, width: NAME_WIDTH };
  const left = Math.max(8, depths[0] - (width - MARGIN) / xAxis.data.length / 2 - 24);
  return { xAxis: { ...xAxis, axisLabel, nameGap: Math.max(...depths) + 24 }, grid: { ...grid, left } };
}

/** Return into how many parts an axis of values below names is split. */
function splitsOf(width) {
  return Math.max(2, Math.min(5, Math.floor((width - NAME_WIDTH - MARGIN) / 70)));
}

/** Return the option with lying bars, of which the first one is at the top. */
function swapped({ xAxis, yAxis, formats, ...option }) {
  return { ...option, xAxis: yAxis, yAxis: { ...xAxis, inverse: true },
    formats: formats && { ...formats, xAxis: formats.yAxis, yAxis: formats.xAxis } };
}

/** Return the axes of lying bars, with all names; these have up to a quarter of a wide place. */
function lying({ xAxis, yAxis }, width) {
  return {
    xAxis: { ...xAxis, nameLocation: "middle", nameGap: 30, splitNumber: splitsOf(width), axisLabel: { ...xAxis.axisLabel, hideOverlap: true } },
    yAxis: { ...yAxis, nameLocation: "start", nameGap: 15, nameTextStyle: { align: "left" }, axisLine: { onZero: false },
      axisLabel: { ...yAxis.axisLabel, interval: 0, width: Math.max(NAME_WIDTH, Math.floor(width / 4)) } } };
}

/** Return the values of bars as their labels. */
function shownValues({ series, formats }) {
  const format = formats?.values ?? { kind: "number", decimals: 2 };
  return series.flatMap(({ data }) => data).map((value) => (value === null ? "" : valueText(value, format)));
}

/** Return the option with the value at the end of each bar, where they fit; rows of one series then have no axis of values. */
function withValues(option, width) {
  const { series, xAxis, yAxis, grid } = option;
  if (series.some(({ stack }) => stack)) return option;
  const lies = yAxis.type === "category";
  const values = shownValues(option);
  const widest = Math.max(...values.map((value) => pen.measureText(value).width));
  const place = ((width - MARGIN) / values.length) * (series.length > 1 ? GROUPED : 1);
  if (!lies && widest + GAP / 2 > place) return option;
  const label = ({ seriesIndex, dataIndex }) => values[seriesIndex * series[0].data.length + dataIndex];
  const [end, negativeEnd] = lies ? ["right", "left"] : ["top", "bottom"];
  const bar = (value) => (value < 0 ? { value, label: { position: negativeEnd } } : value);
  const bars = series.map((each) => ({ ...each, data: each.data.map(bar), label: { show: true, position: end, formatter: label } }));
  const isNegative = series.some(({ data }) => data.some((value) => value < 0));
  const room = lies ? widest / (width - NAME_WIDTH - MARGIN - widest) : LABEL_SHARE;
  const longer = isNegative && { boundaryGap: [room, 0] };
  // The name of the axis stands above the label of the highest bar.
  if (!lies) return { ...option, series: bars, yAxis: { ...yAxis, nameGap: 20, ...longer } };
  const hasAxis = series.length > 1 || isNegative;
  return { ...option, series: bars, grid: { ...grid, right: widest + GAP },
    xAxis: { ...xAxis, ...longer, ...(!hasAxis && { nameGap: 8, axisLabel: { show: false }, splitLine: { show: false } }) } };
}

/** Return the option with the names of a few lines at their ends in place of a legend. */
function withEnds(option, width) {
  const { series, legend, grid } = option;
  const hasEnd = ({ type, areaStyle, data }) => type === "line" && !areaStyle && typeof [data.at(-1)].flat().at(-1) === "number";
  if (series.length < 2 || series.length > MOST_ENDS || width < ENDS_WIDTH || !series.every(hasEnd)) return option;
  const endLabel = { show: true, formatter: "{a}", color: "inherit", width: NAME_WIDTH, overflow: "truncate" };
  const right = Math.max(...series.map(({ name }) => nameWidth(name))) + 2 * GAP;
  return { ...option, legend: { ...legend, show: false }, grid: { ...grid, right, bottom: 36 },
    series: series.map((each) => ({ ...each, endLabel, labelLayout: { moveOverlap: "shiftY" } })) };
}
