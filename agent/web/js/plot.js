/** The chart of a stored answer with its settings, which the server draws and keeps. */

import { got, sendJson } from "./api.js";
import { chartView } from "./chart.js";
import { button, checkbox, choice, labelled, showError } from "./controls.js";
import { announce, make } from "./dom.js";
import { say, text } from "./language.js";

const STACKED = ["bar", "area"];
const SPLIT = ["line", "bar", "area", "scatter", "heatmap"];
const PATIENCE_MS = 3000;
/** What is being read for outputs. */
const reading = new WeakMap();

/** Wait until the server has said which chart `output` has, for three seconds at most; its view then begins with it. */
export function plotKnown(output) {
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  return Promise.race([read(output)?.catch(() => {}), patience]);
}

/** Return the view of the charts of `output`, the answer to what was `said`; one chart of stored rows has settings. */
export function plotView(output, said) {
  const views = output.charts.map((chart) => chartView(chart, said));
  const drawn = read(output);
  // The place of the settings or of the button is kept until the server has said which it is.
  const panel = make("div", { class: drawn ? "plot pending" : "plot" }, ...views);
  if (drawn) load(panel, drawn, { path: pathOf(output), said });
  return panel;
}

/** Return what the server says about the chart of `output`, a promise; null if it cannot have one with settings. */
function read(output) {
  const path = pathOf(output);
  if (path && !reading.has(output)) reading.set(output, got(path));
  return reading.get(output) ?? null;
}

function pathOf({ charts, thread_id: thread, run_id: run, tables: [table], error }) {
  const hasNone = !thread || !run || charts.length > 1 || error || !table || table.rows.length * table.columns.length < 2;
  return hasNone ? null : `threads/${thread}/runs/${run}/chart`;
}

async function load(panel, drawn, place) {
  try {
    show(panel, await drawn, place);
  } catch {
    // The chart of the output stays as it is; the rows are shown anyway.
  } finally {
    panel.classList.remove("pending");
  }
}

function show(panel, drawn, place) {
  const { chart, spec, types, columns } = drawn;
  if (!Object.keys(types).length) return;
  const save = (changed) => put(panel, changed, place, drawn);
  if (!spec) {
    panel.replaceChildren(button("plot_draw", () => save(Object.values(types)[0])));
    return;
  }
  const wasOpen = panel.querySelector("details")?.open ?? false;
  panel.replaceChildren(chartView(chart, place.said), settings(spec, types, columns, wasOpen, save));
}

async function put(panel, spec, place, drawn) {
  const focused = panel.querySelector(":focus")?.dataset.setting;
  // One change at a time: the answer to an earlier one would replace a later one.
  for (const field of panel.querySelectorAll("select, input")) field.disabled = true;
  try {
    show(panel, await (await sendJson("PUT", place.path, { spec })).json(), place);
    announce(text("plot_changed"));
  } catch (error) {
    // The settings show again what is drawn.
    show(panel, drawn, place);
    showError(panel.appendChild(make("p")), { message: error.status === 422 ? text("plot_refused") : error.message });
  }
  if (focused) panel.querySelector(`[data-setting="${focused}"]`)?.focus({ preventScroll: true });
}

/** Return the form with the settings of `spec`; a change calls `save` with the changed spec. */
function settings(spec, types, columns, open, save) {
  const kind = spec.chart_type;
  const named = [...new Set([...columns.map(({ name }) => name), spec.x, ...(spec.series ? [spec.series] : [])])];
  const numbers = columns.filter(({ numeric }) => numeric).map(({ name }) => name);
  const all = (name) => [name, () => name];
  const kinds = [...new Set([...Object.keys(types), kind])].map((each) => [each, `plot_${each}`]);
  const fields = [
    setting("plot_type", kinds, kind, (chosen) => save(types[chosen] ?? { ...spec, chart_type: chosen })),
    setting("plot_x", named.map(all), spec.x, (x) => save({ ...spec, x, series: spec.series === x ? null : spec.series })),
  ];
  if (kind !== "histogram") {
    const several = spec.y.length > 1 ? [["", () => spec.y.join(", ")]] : [];
    const measures = [...new Set([...numbers, ...(spec.y.length === 1 ? spec.y : [])])].map(all);
    const y = setting("plot_y", [...several, ...measures], several.length ? "" : spec.y[0], (name) => save(name ? { ...spec, y: [name], series: seriesOf(spec, columns) } : spec));
    fields.push(y);
  }
  if (SPLIT.includes(kind)) {
    const others = named.filter((name) => name !== spec.x && !spec.y.includes(name)).map(all);
    fields.push(setting("plot_series", [["", "plot_none"], ...others], spec.series ?? "", (name) => save({ ...spec, series: name || null })));
  }
  if (STACKED.includes(kind)) {
    fields.push(checkbox("plot_stacked", { checked: spec.stacked, "data-setting": "plot_stacked" }, (stacked) => save({ ...spec, stacked })));
  }
  return make("details", { class: "plot-settings", open }, say(make("summary"), "plot_settings"),
    make("div", { class: "plot-fields" }, ...fields));
}

/** Return the series of a chart of one measure: those of several measures belong to a column that the rows do not have. */
function seriesOf({ x, series }, columns) {
  if (!series || columns.some(({ name }) => name === series)) return series;
  return columns.find(({ name, numeric }) => !numeric && name !== x)?.name ?? null;
}

function setting(key, options, value, changed) {
  return labelled(key, choice(options, value, changed, { "data-setting": key }));
}
