/** The preview of a file that was added: its sheets, the first rows, and what was noted when it was read. */

import { announce } from "./announce.js";
import { postJson, request } from "./api.js";
import { choose, nameOf, onReplaced, readAgain, readyText } from "./chosen.js";
import { byId, make } from "./dom.js";
import { say } from "./language.js";
import { typeName } from "./loading.js";
import { isQuantity, valueText } from "./numbers.js";

/** The datasets of the file that is previewed, by sheet; the one without sheets has an empty name. */
let loaded = new Map();

/** Show the preview of the file of `dataset`, which was just loaded. */
export function showPreview(dataset) {
  loaded = new Map([[sheetOf(dataset), dataset]]);
  return show(dataset);
}

/** Show `made` in place of `dataset`, which was read with other options. */
onReplaced((dataset, made) => {
  const entry = [...loaded].find(([, each]) => each.dataset_id === dataset.dataset_id);
  if (byId("preview").hidden || !entry) return;
  loaded.delete(entry[0]);
  loaded.set(sheetOf(made), made);
  show(made);
});

function sheetOf(dataset) {
  return dataset.report?.sheet ?? "";
}

async function show(dataset) {
  const panel = byId("preview");
  try {
    const found = await (await request(`datasets/${dataset.dataset_id}/preview`)).json();
    const sheets = found.report.sheets.length > 1 ? sheetTabs(found) : [];
    panel.replaceChildren(...sheets, facts(found), rows(found), ...notes(found), buttons(dataset));
    panel.hidden = false;
  } catch {
    // The dataset can be asked without its preview.
    panel.hidden = true;
  }
}

function sheetTabs(dataset) {
  const { sheets } = dataset.report;
  const tabs = sheets.map((name) => {
    const isShown = name === sheetOf(dataset);
    const tab = make("button", { type: "button", class: "quiet", role: "tab", "aria-selected": String(isShown), tabindex: isShown ? 0 : -1 },
      make("bdi", {}, loaded.has(name) ? name : `+ ${name}`));
    if (!loaded.has(name)) say(tab, "preview_load", { name }, "title");
    tab.addEventListener("click", () => pick(name, dataset));
    return tab;
  });
  const list = say(make("div", { class: "tabs", role: "tablist" }, ...tabs), "preview_sheets", {}, "aria-label");
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length].focus();
  });
  if (sheets.every((name) => loaded.has(name))) return [list];
  const all = make("button", { type: "button", class: "quiet", on: { click: () => pickAll(sheets, dataset) } });
  return [list, make("div", { class: "buttons" }, say(all, "preview_all"))];
}

/** Show a sheet; one that is not loaded yet becomes a table of its own. */
async function pick(name, dataset) {
  const made = await attempt(() => load(name, dataset));
  if (!made) return;
  await show(made);
  byId("preview").querySelector("[aria-selected=true]")?.focus();
}

async function pickAll(sheets, dataset) {
  await attempt(async () => {
    for (const name of sheets) await load(name, dataset);
  });
  await show(dataset);
}

async function load(name, { file_id }) {
  if (loaded.has(name)) {
    choose(loaded.get(name));
    return loaded.get(name);
  }
  const made = await (await postJson("datasets", { file_id, options: { sheet: name } })).json();
  loaded.set(name, made);
  choose(made);
  announce(readyText(made));
  return made;
}

/** Return what `work` returns; an error, such as that of an empty sheet, is shown below the rows. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    byId("preview").append(make("p", { class: "error", role: "alert" }, error.message));
    return null;
  }
}

function facts(dataset) {
  const { report, row_count: count, schema } = dataset;
  const shape = say(make("span"), "file_shape", { rows: count, columns: schema.length });
  const header = report.header_row === null ? null
    : report.header_row === 0 ? say(make("span"), "preview_no_header") : say(make("span"), "preview_header", { row: report.header_row });
  return make("p", { class: "facts" }, make("bdi", {}, nameOf(dataset)), " · ", shape, ...(header ? [" · ", header] : []));
}

function rows({ columns, rows: cells, schema, formats }) {
  const heads = columns.map((name, at) =>
    make("th", { scope: "col", class: isQuantity(formats[at]) ? "number" : null }, make("bdi", {}, name), say(make("small"), () => typeName(schema[at].type))));
  const body = cells.map((row) => make("tr", {}, ...row.map((value, at) =>
    say(make("td", { class: isQuantity(formats[at]) ? "number" : null }), () => valueText(value, formats[at])))));
  return make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)));
}

function notes({ notes: texts }) {
  return texts.length ? [make("ul", { class: "notes", tabindex: 0 }, ...texts.map((each) => make("li", { dir: "auto" }, each)))] : [];
}

function buttons(dataset) {
  const change = make("button", { type: "button", class: "quiet", on: { click: () => readAgain(dataset) } });
  const close = make("button", { type: "button", class: "quiet" });
  close.addEventListener("click", () => {
    byId("preview").hidden = true;
    byId("question").focus();
  });
  return make("div", { class: "buttons" }, say(change, "preview_change"), say(close, "preview_close"));
}
