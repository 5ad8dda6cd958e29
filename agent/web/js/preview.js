/** The preview of a chosen file: its sheets, the first rows, and what was noted when it was read. */

import { got, postJson } from "./api.js";
import { choose, isChosen, listeners, nameOf, readAgain, readyText, sheetOf, sheetsOf } from "./chosen.js";
import { button, showError } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say } from "./language.js";
import { typeName } from "./loading.js";
import { isQuantity, valueText } from "./numbers.js";

/** The dataset whose preview is shown or awaited. */
let shown = null;

listeners.opened = showPreview;
listeners.replaced = (dataset, made) => {
  // It has a tab for each sheet of its file, of which this may be one.
  if (shown) showPreview(shown.dataset_id === dataset.dataset_id ? made : shown);
};
listeners.left = () => {
  if (shown && isChosen(shown)) showPreview(shown);
  else hidePreview();
};

/** Show the preview of the file of `dataset`, which is chosen. */
export async function showPreview(dataset) {
  const panel = byId("preview");
  shown = dataset;
  try {
    const found = await got(`datasets/${dataset.dataset_id}/preview`);
    if (shown !== dataset) return;
    const sheets = found.report.sheets.length > 1 ? sheetTabs(found) : [];
    panel.replaceChildren(...sheets, facts(found), rows(found), ...notes(found), buttons(dataset));
    panel.hidden = false;
  } catch {
    // The dataset can be asked without its preview.
    if (shown === dataset) hidePreview();
  }
}

/** Hide the preview. */
export function hidePreview() {
  shown = null;
  byId("preview").hidden = true;
}

function sheetTabs(dataset) {
  const { sheets } = dataset.report;
  const chosen = sheetsOf(dataset);
  const tabs = sheets.map((name) => {
    const isShown = name === sheetOf(dataset);
    const attributes = { role: "tab", "aria-selected": String(isShown), tabindex: isShown ? 0 : -1 };
    const tab = button(() => (chosen.has(name) ? name : `+ ${name}`), () => pick(name, dataset), { dir: "auto", ...attributes });
    return chosen.has(name) ? tab : say(tab, "preview_load", { name }, "title");
  });
  const list = say(make("div", { class: "tabs", role: "tablist" }, ...tabs), "preview_sheets", {}, "aria-label");
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length].focus();
  });
  if (sheets.every((name) => chosen.has(name))) return [list];
  return [list, make("div", { class: "buttons" }, button("preview_all", () => pickAll(sheets, dataset)))];
}

/** Show a sheet; one that is not chosen yet becomes a table of its own. */
async function pick(name, dataset) {
  const made = await attempt(() => load(name, dataset));
  if (!made) return;
  await showPreview(made);
  byId("preview").querySelector("[aria-selected=true]")?.focus();
}

async function pickAll(sheets, dataset) {
  await attempt(async () => {
    for (const name of sheets) await load(name, dataset);
  });
  await showPreview(dataset);
}

async function load(name, dataset) {
  const chosen = sheetsOf(dataset).get(name);
  if (chosen) return chosen;
  const made = await (await postJson("datasets", { file_id: dataset.file_id, options: { sheet: name } })).json();
  choose(made);
  announce(readyText(made));
  return made;
}

/** Return what `work` returns; an error, such as that of an empty sheet, is shown below the rows. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    showError(byId("preview").appendChild(make("p")), error);
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
  const close = () => {
    hidePreview();
    byId("question").focus();
  };
  return make("div", { class: "buttons" }, button("preview_change", () => readAgain(dataset)), button("preview_close", close));
}
