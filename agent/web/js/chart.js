/** A chart of an answer, drawn by ECharts, which is fetched with the first one. */

import { make } from "./dom.js";
import { onLanguage, say } from "./language.js";
import { withNames } from "./names.js";
import { tickText, valueText } from "./numbers.js";
import { fileName, saveAs, saveFile } from "./save.js";
import { onTheme } from "./theme.js";

const SAVED = { width: 1200, height: 700 };
const SHARPNESS = 2;
/** The charts with the names of their files, by their boxes. */
const charts = new WeakMap();

/** Return the view of `chart`, an AnswerChart: its title, unless that is what was `said`, and notes as text; the picture. */
export function chartView(chart, said = "") {
  const { text: title = "", subtext = "" } = chart.option.title ?? {};
  const box = make("div", { class: "chart", role: "img" });
  say(box, "chart", { title: title || chart.type }, "aria-label");
  charts.set(box, { chart, box, name: said || title || chart.type });
  const caption = make("figcaption", {}, title === said ? null : make("strong", {}, title), subtext ? make("span", {}, subtext) : null);
  drawWhenShown(box, chart);
  return make("figure", {}, caption, box);
}

/** Return what a menu has for the charts in `view`: texts with what they do. */
export function chartItems(view) {
  const found = [...view.querySelectorAll(":scope > figure .chart, :scope > .plot .chart")].map((each) => charts.get(each));
  return found.length ? [[saveAs("PNG"), () => found.forEach(savePicture)], [saveAs("SVG"), () => found.forEach(saveDrawing)]] : [];
}

function drawWhenShown(box, chart) {
  let drawn = null;
  let form = "";
  const fitted = () => withNames(chart, box.clientWidth, fontOf(box));
  const draw = async () => {
    const echarts = await library();
    drawn?.dispose();
    const shown = fitted();
    form = shown.form;
    box.style.minHeight = shown.height ? `${shown.height}px` : "";
    drawn = echarts.init(box, colours(box));
    drawn.setOption(onScreen(plain(inLanguage(shown.option))));
  };
  const failed = () => box.replaceChildren(say(make("p"), "chart_failed"));
  // The box has a size once it is in the page.
  new ResizeObserver(() => (drawn && fitted().form === form ? drawn.resize() : draw().catch(failed))).observe(box);
  const again = () => drawn && box.isConnected && draw();
  onTheme(again);
  onLanguage(again);
}

function fontOf(box) {
  return `12px ${getComputedStyle(box).fontFamily}`;
}

const library = () => import("../vendor/echarts/echarts.esm.min.mjs");

/** Return an option whose numbers are written as the language does: at axes and scales, in the labels of pies and in tooltips. */
export function inLanguage(option) {
  const { formats = {} } = option;
  const axes = ["xAxis", "yAxis"].filter((name) => option[name]?.type === "value");
  const written = Object.fromEntries(axes.map((name) => [name, withNumbers(option[name], formats[name])]));
  const shown = formats.values ?? { kind: "number", decimals: 2 };
  const along = option.xAxis?.type === "value" && option.yAxis?.type === "value" ? formats.xAxis : null;
  if (option.visualMap) written.visualMap = { ...option.visualMap, formatter: (value) => tickText(value, shown) };
  if (option.tooltip) written.tooltip = { ...option.tooltip, valueFormatter: (value) => cellsText(value, shown, along) };
  const series = option.series?.map((each) => (each.type === "pie"
    ? { ...each, label: { ...each.label, formatter: (part) => [...(option.legend?.show ? [] : [part.name]), `${valueText(part.value, shown)} · ${shareText(part)}`].join("\n") }, labelLine: { length: 8, length2: 4 } } : each));
  return { ...option, ...written, ...(series && { series }) };
}

function shareText({ percent }) {
  return tickText(percent, { kind: "percent" });
}

function withNumbers(axis, format = { kind: "number" }) {
  const formatter = (value) => tickText(value, format);
  // The label of the pointer heads the tooltip of a line.
  return { ...axis, axisLabel: { ...axis.axisLabel, formatter }, axisPointer: { label: { formatter: ({ value }) => valueText(value, format) } } };
}

/** Return what a tooltip says: of a place and its value, each has its own format. */
function cellsText(value, shown, along) {
  if (Array.isArray(value)) return value.map((each, at) => cellsText(each, at === 0 && along ? along : shown)).join(", ");
  return typeof value === "number" ? valueText(value, shown) : valueText(value);
}

/** One series has no legend where the axis names it; the labels of a pie name its parts, unless its legend is shown. */
function plain(option) {
  const known = option.legend?.data ?? [];
  if (option.series?.[0]?.type === "pie") return { ...option, legend: { show: false, ...option.legend } };
  const named = [option.yAxis, option.xAxis].some((axis) => axis?.name === known[0]);
  if (known.length !== 1 || !named) return option;
  return { ...option, legend: { ...option.legend, show: false }, grid: { ...option.grid, bottom: 36 } };
}

/** The page has the title itself, and room in its place; text of the data never becomes markup, in a tooltip either. */
function onScreen(option) {
  const { title, ...shown } = option;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  // Below a heatmap stand the name of its axis and its scale.
  const bottom = option.visualMap ? 90 : option.grid?.bottom;
  const right = option.grid?.right ?? (option.xAxis?.type === "time" ? 48 : 24);
  const left = option.grid?.left ?? (option.xAxis?.type === "time" ? 32 : 8);
  const grid = option.grid && { ...option.grid, top: 36, left, right, bottom };
  const tooltip = option.tooltip && { ...option.tooltip, renderMode: "richText", confine: true };
  const xAxis = option.xAxis && { ...option.xAxis, nameLocation: "middle" };
  const yAxis = option.yAxis && { ...option.yAxis, nameLocation: option.yAxis.inverse ? "start" : "end" };
  return { ...shown, ...(tooltip && { tooltip }), ...(grid && { grid, xAxis, yAxis }), animation: !still };
}

async function savePicture({ chart, box, name }) {
  const [echarts, { option, height }] = [await library(), saved(chart, box)];
  const picture = echarts.init(make("div"), colours(box), { ...SAVED, height });
  picture.setOption(option);
  picture.renderToCanvas({ pixelRatio: SHARPNESS }).toBlob((blob) => {
    saveFile(blob, fileName(name, ".png"));
    picture.dispose();
  });
}

async function saveDrawing({ chart, box, name }) {
  const [echarts, { option, height }] = [await library(), saved(chart, box)];
  const drawing = echarts.init(null, colours(box), { ...SAVED, height, renderer: "svg", ssr: true });
  drawing.setOption(option);
  saveFile(new Blob([drawing.renderToSVGString()], { type: "image/svg+xml" }), fileName(name, ".svg"));
  drawing.dispose();
}

/** Return an option for a file, on the ground of the page, and its height. */
function saved(chart, box) {
  const { option, height } = withNames(chart, SAVED.width, fontOf(box));
  const ground = getComputedStyle(document.body).backgroundColor;
  return { option: { ...plain(inLanguage(option)), animation: false, backgroundColor: ground }, height: Math.max(SAVED.height, height) };
}

/** Return the page's colours as a theme of ECharts. */
function colours(box) {
  const { color, borderTopColor: line, fontFamily } = getComputedStyle(box);
  const words = { color };
  const axis = {
    axisLine: { lineStyle: { color: line } }, axisTick: { lineStyle: { color: line } },
    axisLabel: words, nameTextStyle: words, splitLine: { lineStyle: { color: line } },
  };
  return {
    backgroundColor: "transparent", textStyle: { color, fontFamily },
    title: { textStyle: words, subtextStyle: words }, legend: { textStyle: words, pageTextStyle: words },
    categoryAxis: { ...axis, axisLabel: { ...words, width: 120, overflow: "truncate" }, splitLine: { show: false } }, valueAxis: axis, visualMap: { textStyle: words },
    pie: { label: words }, bar: { label: words }, line: { symbol: "circle" },
  };
}
