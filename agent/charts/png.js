/**
 * Draw ECharts options as SVG, in QuickJS; see `png.py`. `options` draws one as the page does (`agent/web/js/chart.js`),
 * without what only a screen has: names stand in the room of the picture, and numbers are written by `written`.
 */
const WIDTH = 1000;
const HEIGHT = 600;
const NAME_WIDTH = 200;
const MOST_ROWS = 40;
const MOST_SLANTED = 24;
const LEGEND_COLUMNS = 4;
const LABEL_SHARE = 0.1;
const NUMBER = { kind: "number", decimals: 2 };

// A picture has no animation that would wait.
globalThis.setTimeout = globalThis.clearTimeout = () => 0;

function draw(text) {
  // There is no canvas to measure on: Latin and Cyrillic letters are about half as wide as high, Chinese ones square.
  const measureText = (words, font) => ({ width: parseFloat(/[\d.]+px/.exec(font)) * [...words].reduce((sum, letter) => sum + (letter < "\u2e80" ? 0.56 : 1), 0) });
  echarts.setPlatformAPI({ measureText });
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: HEIGHT });
  chart.setOption({ ...fitted(JSON.parse(text)), animation: false, backgroundColor: "#fff" });
  const drawing = chart.renderToSVGString();
  // ECharts keeps every chart that is not disposed of.
  chart.dispose();
  return JSON.stringify(drawing);
}

function fitted({ formats = {}, language = "en", ...option }) {
  // Whoever puts several charts into one picture says where each stands.
  if (Array.isArray(option.grid)) return option;
  const write = (value, format, isTick) => (typeof value === "number" ? written(value, JSON.stringify(format), language, isTick) : String(value ?? "–"));
  const shown = formats.values ?? NUMBER;
  const [first, ...others] = option.series;
  const isNegative = option.series.some(({ data }) => data.some((value) => value < 0));
  const known = option.legend?.data ?? [];
  const hasLegend = known.length > 1 || (known.length === 1 && ![option.xAxis?.name, option.yAxis?.name].includes(known[0]));
  const lines = Math.ceil(known.length / LEGEND_COLUMNS);
  const title = { left: "center", ...option.title, textStyle: { fontSize: 16, ...lettered(960, 2) }, subtextStyle: lettered(960) };
  const grid = option.grid && { ...option.grid, top: option.grid.top + 40, right: 40, bottom: option.visualMap ? 90 : hasLegend ? 36 + 26 * lines : 36 };
  const legend = option.legend && { ...option.legend, type: "plain", show: hasLegend && first.type !== "pie", textStyle: lettered(NAME_WIDTH) };
  const made = { ...option, title, ...(legend && { legend }), ...(grid && { grid }) };
  if (option.visualMap) made.visualMap = { ...option.visualMap, formatter: (value) => write(value, shown, true) };
  if (grid) {
    made.xAxis = { ...axis(option.xAxis, formats.xAxis), ...below(option.xAxis), nameLocation: "middle" };
    made.yAxis = { ...axis(option.yAxis, formats.yAxis), ...beside(option.yAxis), nameLocation: option.yAxis.inverse ? "start" : "end" };
  }
  if (first.type === "bar" && option.yAxis?.type === "category" && !others.length) return { ...made, ...labelled(made, first) };
  if (first.type !== "pie") return made;
  const label = { ...lettered(NAME_WIDTH, 2), formatter: ({ name, percent }) => `${name}: ${write(percent, { kind: "percent" }, true)}` };
  return { ...made, series: [{ ...first, label }] };

  function axis(given, format) {
    const formatter = format ? (value) => write(value, format, true) : given.axisLabel?.formatter;
    return { nameGap: 30, ...given, ...(given.type === "value" && { axisLabel: { ...given.axisLabel, formatter } }) };
  }

  /** Lying bars with their values at their ends: those below zero at the left, where the axis has room for them. */
  function labelled({ xAxis, grid }, bars) {
    const letters = Math.max(...bars.data.map((value) => write(value, shown, false).length));
    const data = bars.data.map((value) => (value < 0 ? { value, label: { position: "left" } } : value));
    const label = { show: true, position: "right", formatter: ({ value }) => write(value, shown, false) };
    return { grid: { ...grid, right: Math.max(grid.right, 7 * letters + 12) }, xAxis: { ...xAxis, ...(isNegative && { boundaryGap: [LABEL_SHARE, 0] }) }, series: [{ ...bars, data, label }] };
  }

  /** Names below a chart: all in two lines or slanted, of many and of periods as many as fit. */
  function below({ type, data = [], axisLabel }) {
    if (type !== "category" || data.length > MOST_SLANTED || /year|quarter|month|date/.test(formats.xAxis?.kind)) return {};
    const width = 860 / data.length - 12;
    const fits = data.every((name) => [...name].length * 7 <= 2 * width);
    return { axisLabel: { ...axisLabel, interval: 0, ...(fits ? lettered(width, 2) : { rotate: 30, ...lettered(160) }) }, nameGap: fits ? 48 : 90 };
  }

  function beside({ type, data = [], axisLabel }) {
    return type === "category" ? { axisLine: { onZero: false, show: !isNegative }, axisLabel: { ...axisLabel, ...lettered(NAME_WIDTH), interval: data.length <= MOST_ROWS ? 0 : "auto" } } : {};
  }

  function lettered(width, rows = 1) {
    return rows > 1 ? { width, overflow: "break", lineHeight: 18, height: 18 * rows, lineOverflow: "truncate" } : { width, overflow: "truncate" };
  }
}
