/** What is asked: a database, or the files that were chosen in its place. */

import { got } from "./api.js";
import { button, signButton } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { allowEditing } from "./editor.js";
import { showCauses } from "./failure.js";
import { onceKeyGiven } from "./key.js";
import { say, text } from "./language.js";
import { askOptions } from "./loading.js";
import { addReview } from "./review.js";
import { notify } from "./sidebar.js";
import { addSourceSettings } from "./sources.js";

/** Those that are asked, and those that the server keeps. */
const datasets = new Map();
let kept = [];
/** Returns the name of the only database; null where there are several. */
let onlyName = null;

/** What is called with a dataset to look at, with one that was read anew and the one in its place, and when some are left. */
export const listeners = { opened() {}, replaced() {}, left() {} };

/** Return the graph to ask and what the input names: datasets by id, or a source if one was chosen. */
export function where() {
  if (datasets.size) return { graph: "analyst", named: { datasets: [...datasets.keys()] } };
  const source = byId("source").value;
  return { graph: "agent", named: source ? { source } : {} };
}

/** Return the name of what an input names; empty where the question chooses among several databases. */
export function nameOfPlace({ source, datasets: ids }) {
  if (ids) return ids.map((id) => datasets.get(id)).filter(Boolean).map(nameOf).join(", ");
  return source ?? onlyName?.() ?? "";
}

/** Let the user choose among what the server has; at first what `named` names is chosen. Return when it can be asked. */
export function addSources(named) {
  const select = byId("source");
  select.addEventListener("change", () => {
    const dataset = kept.find((each) => select.value === keptValue(each));
    if (!dataset) return;
    select.value = "";
    choose(dataset);
  });
  return load(named);
}

/** Fill the list with the server's sources and the datasets it keeps, and again with a key where it is refused. */
async function load(named) {
  const select = byId("source");
  const found = await Promise.all(["sources", "datasets"].map((path) => got(path).catch(() => null)));
  if (found.includes(null)) onceKeyGiven(() => load(named));
  const [answered, { datasets: stored }] = [found[0] ?? { sources: [] }, found[1] ?? { datasets: [] }];
  addReview(answered.may_review);
  showCauses(answered.is_operator);
  allowEditing(answered);
  addSourceSettings(answered, async () => {
    await load({});
    // What is shown of the chosen source may have changed.
    select.dispatchEvent(new Event("change"));
  });
  showFoot(answered);
  const before = select.value;
  for (const old of select.querySelectorAll("optgroup")) old.remove();
  if (answered.sources.length > 1) select.append(group("sources_databases", answered.sources.map(({ name, dialect }) => make("option", { value: name }, dialect ? `${name} (${dialect})` : name))));
  if (stored.length) select.append(group("sources_files", stored.map((each) => make("option", { value: keptValue(each) }, nameOf(each)))));
  kept = stored;
  chooseNamed(before || datasets.size ? { source: before } : named);
}

/** Say below the question what is asked: the only database, and the model. */
function showFoot({ sources, is_sample: isSample, model, may_edit_sources: mayEdit, is_operator: isOperator }) {
  onlyName = sources.length === 1 ? () => (isSample ? text("sample_shop") : sources[0].name) : null;
  say(byId("source").options[0], onlyName ?? "source_any");
  say(byId("model"), model ? () => model : "model_offline");
  byId("start-model").hidden = Boolean(model) || !isOperator;
  for (const each of [byId("connect"), byId("start-connect")]) {
    each.hidden = !(isSample && mayEdit);
    each.onclick = () => byId("edit-sources").click();
  }
}

function chooseNamed({ source = "", datasets: ids = [] }) {
  const select = byId("source");
  if ([...select.options].some((each) => each.value === source)) select.value = source;
  for (const dataset of kept) if (ids.includes(dataset.dataset_id)) choose(dataset);
}

/** Ask what `named` names, and nothing else, from now on. */
export function chooseAnew(named) {
  byId("source").value = "";
  leaveFiles();
  chooseNamed(named);
}

/** Ask the source with this name from now on, and say what `key` says of it. */
export function askSource(name, key) {
  chooseAnew({ source: name });
  byId("source").dispatchEvent(new Event("change"));
  notify(text(key, { name }));
}

/** Ask no files from now on. */
export function leaveFiles() {
  datasets.clear();
  listeners.left();
  show();
}

/** Ask `dataset` from now on, beside those that were chosen before. */
export function choose(dataset) {
  datasets.set(dataset.dataset_id, dataset);
  show();
}

function show() {
  // What the start offers is about databases.
  byId("source").hidden = byId("start").hidden = byId("tables").hidden = datasets.size > 0;
  byId("files").replaceChildren(...[...datasets.values()].map(chip));
}

function chip(dataset) {
  const name = nameOf(dataset);
  const shape = { rows: dataset.row_count, columns: dataset.schema?.length ?? "?" };
  const opening = button(() => name, () => listeners.opened(dataset), { class: "link name", dir: "auto" });
  const remove = () => {
    datasets.delete(dataset.dataset_id);
    listeners.left();
    show();
    byId("question").focus();
  };
  return make("li", { class: "chip" }, say(opening, "preview", {}, "title"), say(make("span", { class: "shape" }), "file_shape", shape),
    dataset.file_id ? signButton("⚙", "load_options", { name }, () => readAgain(dataset), { class: "remove" }) : null,
    signButton("×", "leave_out", { name }, remove, { class: "remove" }));
}

/** Let the user read the file of `dataset` with other options; the new dataset takes its place, also in the preview. */
export async function readAgain(dataset) {
  const made = await askOptions(dataset, nameOf(dataset));
  if (!made) return;
  const others = [...datasets.values()].map((each) => (each.dataset_id === dataset.dataset_id ? made : each));
  datasets.clear();
  for (const each of others) datasets.set(each.dataset_id, each);
  show();
  listeners.replaced(dataset, made);
  announce(readyText(made));
}

/** Return whether `dataset` is asked. */
export function isChosen({ dataset_id: id }) {
  return datasets.has(id);
}

/** Return the sheet of a dataset; empty for one of a file without sheets. */
export function sheetOf(dataset) {
  return dataset.report?.sheet ?? "";
}

/** Return the chosen datasets of the file of a dataset by their sheets. */
export function sheetsOf({ file_id: file }) {
  return new Map([...datasets.values()].filter((each) => each.file_id === file).map((each) => [sheetOf(each), each]));
}

export function nameOf(dataset) {
  return [dataset.name ?? dataset.dataset_id, sheetOf(dataset)].filter(Boolean).join(" · ");
}

function group(key, items) {
  return say(make("optgroup", {}, ...items), key, {}, "label");
}

/** No source has such a name. */
function keptValue(dataset) {
  return `\n${dataset.dataset_id}`;
}

/** Return what is said of a dataset that has just been made. */
export function readyText(dataset) {
  return text("file_ready", { name: nameOf(dataset) });
}
