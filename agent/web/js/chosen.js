/** What is asked: a database, or the files that were chosen in its place. */

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { say, text } from "./language.js";

const datasets = new Map();

/** Return the graph to ask and what the input names: datasets by id, or a source if one was chosen. */
export function where() {
  if (datasets.size) return { graph: "analyst", named: { datasets: [...datasets.keys()] } };
  const source = byId("source").value;
  return { graph: "agent", named: source ? { source } : {} };
}

/** Fill the list with the server's sources and the datasets it keeps; a server without them has none to choose. */
export async function loadSources() {
  const select = byId("source");
  const [sources, kept] = await Promise.all([listed("sources", "sources"), listed("datasets", "datasets")]);
  if (sources.length) select.append(group("sources_databases", sources.map(sourceItem)));
  if (kept.length) select.append(group("sources_files", kept.map(datasetItem)));
  select.addEventListener("change", () => {
    const dataset = kept.find((each) => select.value === keptValue(each));
    if (!dataset) return;
    select.value = "";
    choose(dataset);
  });
}

/** Ask `dataset` from now on, beside those that were chosen before. */
export function choose(dataset) {
  datasets.set(dataset.dataset_id, dataset);
  show();
}

function show() {
  byId("source").hidden = datasets.size > 0;
  byId("files").replaceChildren(...[...datasets.values()].map(chip));
}

function chip(dataset) {
  const name = nameOf(dataset);
  const shape = { rows: dataset.row_count, columns: dataset.schema?.length ?? "?" };
  const remove = make("button", { type: "button", class: "remove" }, "×");
  remove.addEventListener("click", () => {
    datasets.delete(dataset.dataset_id);
    show();
    byId("question").focus();
  });
  return make("li", { class: "chip" }, make("bdi", {}, name),
    say(make("span", { class: "shape" }), "file_shape", shape), say(remove, "leave_out", { name }, "aria-label"));
}

function nameOf(dataset) {
  const sheet = dataset.report?.sheet;
  return `${dataset.name ?? dataset.dataset_id}${sheet ? ` · ${sheet}` : ""}`;
}

async function listed(path, name) {
  try {
    return (await (await request(path)).json())[name] ?? [];
  } catch {
    return [];
  }
}

function group(key, items) {
  return say(make("optgroup", {}, ...items), key, {}, "label");
}

function sourceItem({ name, dialect }) {
  return make("option", { value: name }, dialect ? `${name} (${dialect})` : name);
}

function datasetItem(dataset) {
  return make("option", { value: keptValue(dataset) }, nameOf(dataset));
}

/** No source has such a name. */
function keptValue(dataset) {
  return `\n${dataset.dataset_id}`;
}

/** Return what is said of a dataset that has just been made. */
export function readyText(dataset) {
  return text("file_ready", { name: nameOf(dataset) });
}
