/** How a file is read: the options of the loader as a form. */

import { postJson } from "./api.js";
import { button, checkbox, choice, form, labelled, submit } from "./controls.js";
import { byId, make } from "./dom.js";
import { loaded } from "./events.js";
import { say, text } from "./language.js";

const KINDS = ["text", "number", "number_point", "number_comma", "currency", "boolean", "date", "date_day_first",
  "date_month_first", "timestamp", "time"];
const TYPES = [[/^(DECIMAL|DOUBLE|FLOAT|U?(BIG|HUGE|SMALL|TINY)?INT)/, "kind_number"], [/^VARCHAR/, "kind_text"], [/^BOOLEAN/, "kind_boolean"],
  [/^DATE$/, "kind_date"], [/^TIMESTAMP/, "kind_timestamp"], [/^TIME/, "kind_time"]];
const MAX_COLUMNS = 200;
const ALL = "*";

/** Say in `place` that a file is read, and how far; return the output of the load of which `response` tells. */
export async function watched(place, name, response) {
  const share = make("progress", { max: 1, "aria-label": name });
  place.replaceChildren(say(make("p", { role: "status", class: "hint" }), "reading_file", { name }), share);
  return loaded(await response, (done) => share.setAttribute("value", String(done)));
}

/** Let the user change the options of `dataset`, called `name`; return its new dataset, or null if nothing was changed. */
export function askOptions(dataset, name) {
  const dialog = byId("load-dialog");
  const fields = fieldsOf(dataset);
  const state = make("div");
  const stop = new AbortController();
  let made = null;
  dialog.replaceChildren(form({}, async () => {
    const body = { file_id: dataset.file_id, options: Object.assign({}, ...fields.map(({ read }) => read())) };
    try {
      made = await watched(state, name, postJson("datasets/events", body, stop.signal));
      dialog.close();
    } finally {
      state.replaceChildren();
    }
  }, say(make("h2", { id: "load-title" }), "load_options", { name }), ...fields.map(({ element }) => element), state,
  make("div", { class: "buttons" }, submit("load_apply"), button("load_cancel", () => dialog.close()))));
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      stop.abort();
      resolve(made);
    }, { once: true });
  });
}

/** Return the fields of the form: each an element, and a function that reads its options. */
function fieldsOf({ report = {}, schema = [], source_type: type }) {
  const set = report.options ?? {};
  const columns = [...new Set([...schema.map((each) => each.name), ...Object.keys(set.types ?? {}),
    ...(set.fill_down ?? []), ...Object.keys(set.split ?? {}), ...(set.unpivot?.columns ?? [])])].slice(0, MAX_COLUMNS);
  const hasCells = type === "excel" || type === "csv";
  const found = [];
  if (report.sheets?.length > 1) {
    const names = [[ALL, "load_sheets"], ...report.sheets.map((name) => [name, () => name])];
    const select = choice(names, set.sheets ? ALL : set.sheet ?? report.sheet);
    found.push({ element: labelled("load_sheet", select), read: () => (select.value === ALL ? { sheets: [ALL] } : { sheet: select.value }) });
  }
  if (report.tables?.length > 1) {
    const all = report.tables.map((_, at) => at + 1);
    const names = [["", "load_detected"], [ALL, "load_tables"], ...all.map((number, at) => [number, () => report.tables[at]])];
    const select = choice(names, set.tables?.length > 1 ? ALL : set.tables?.[0] ?? "");
    const chosen = () => (select.value === ALL ? all : [Number(select.value)]);
    found.push({ element: labelled("load_table", select), read: () => (select.value ? { tables: chosen() } : {}) });
  }
  if (hasCells) {
    for (const [name, least] of [["header_row", 0], ["header_rows", 1], ["footer_rows", 1]]) {
      const input = make("input", { type: "number", min: least, value: set[name], placeholder: report[name] });
      found.push({ element: labelled(`load_${name}`, input), read: () => (input.value ? { [name]: Number(input.value) } : {}) });
    }
    for (const name of report.encoding ? ["encoding", "delimiter"] : []) {
      const input = make("input", { value: set[name], placeholder: report[name] });
      found.push({ element: labelled(`load_${name}`, input), read: () => (input.value ? { [name]: input.value } : {}) });
    }
    for (const name of ["drop_totals", "sections"]) {
      const element = checkbox(`load_${name}`, { checked: set[name] !== false });
      found.push({ element, read: () => (element.firstChild.checked ? {} : { [name]: false }) });
    }
  }
  if (columns.length) found.push(columnFields(columns, set, hasCells, schema));
  return found;
}

/** Return a table with a row for each column, and the options that name columns. */
function columnFields(columns, set, hasCells, schema) {
  const heads = ["load_column", ...(hasCells ? ["load_type", "load_fill_down"] : []), "load_split", "load_unpivot"];
  const rows = columns.map((column) => {
    const boxes = { split: box(column, "load_split", column in (set.split ?? {})),
      unpivot: box(column, "load_unpivot", set.unpivot?.columns?.includes(column)) };
    if (hasCells) {
      boxes.types = choice([["", detected(column, schema)], ...kindNames(set.types?.[column])], set.types?.[column] ?? "");
      say(boxes.types, () => `${column}: ${text("load_type")}`, {}, "aria-label");
      boxes.fill_down = box(column, "load_fill_down", set.fill_down?.includes(column));
    }
    return { column, boxes };
  });
  const body = rows.map(({ column, boxes }) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, column)),
    ...["types", "fill_down", "split", "unpivot"].filter((name) => boxes[name]).map((name) => make("td", {}, boxes[name]))));
  const head = make("tr", {}, ...heads.map((key) => say(make("th", { scope: "col" }), key)));
  const name = make("input", { value: set.unpivot?.name ?? "name", maxlength: 300, required: true });
  const value = make("input", { value: set.unpivot?.value ?? "value", maxlength: 300, required: true });
  const element = make("div", { class: "columns" },
    make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))),
    labelled("load_unpivot_name", name), labelled("load_unpivot_value", value));
  const chosen = (option) => rows.filter(({ boxes }) => boxes[option]?.checked).map(({ column }) => column);
  const read = () => {
    const types = rows.filter(({ boxes }) => boxes.types?.value).map(({ column, boxes }) => [column, boxes.types.value]);
    const [filled, split, tall] = ["fill_down", "split", "unpivot"].map(chosen);
    return {
      ...(types.length && { types: Object.fromEntries(types) }),
      ...(filled.length && { fill_down: filled }),
      ...(split.length && { split: Object.fromEntries(split.map((column) => [column, set.split?.[column] ?? ""])) }),
      ...(tall.length && { unpivot: { columns: tall, name: name.value, value: value.value } }),
    };
  };
  return { element, read };
}

/** Return a function that gives the text for a detected type. */
function detected(column, schema) {
  const type = schema.find(({ name }) => name === column)?.type;
  return () => (type ? `${text("load_detected")}: ${typeName(type)}` : text("load_detected"));
}

/** Return the name of a type of a column, as the page calls it. */
export function typeName(type) {
  const [, key] = TYPES.find(([pattern]) => pattern.test(type)) ?? [];
  return key ? text(key) : type;
}

/** Return the names of the types, with `given` if it is another, such as a time with a zone. */
function kindNames(given) {
  const names = KINDS.map((kind) => [kind, `kind_${kind}`]);
  return given && !KINDS.includes(given) ? [...names, [given, () => given]] : names;
}

function box(column, key, checked) {
  const input = make("input", { type: "checkbox", checked: Boolean(checked) });
  return say(input, () => `${column}: ${text(key)}`, {}, "aria-label");
}
