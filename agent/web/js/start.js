/** Questions to start with, and the tables of the source that is asked: beside the conversation, or in a sheet. */

import { got, postJson } from "./api.js";
import { button, form, hinted, signButton, submit } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { onceKeyGiven } from "./key.js";
import { onLanguage, say, text } from "./language.js";

let latest = 0;
let pick = () => {};

/** Show the start once `ready`; `onPick(question)` is called with the question that the user clicks. */
export async function addStart(ready, onPick) {
  pick = onPick;
  byId("start-drop").addEventListener("click", () => byId("file").click());
  byId("source").addEventListener("change", load);
  onLanguage(load);
  await ready;
  load();
}

/** Read the questions and tables of the chosen source; where the server has none, nothing is shown. */
function load() {
  latest += 1;
  const number = latest;
  const source = byId("source").value;
  const query = source ? `?${new URLSearchParams({ source })}` : "";
  const read = async (path, show) => {
    try {
      const found = await got(`sources/${path}${query}`, { asksKey: false });
      if (number === latest) show(found);
    } catch (error) {
      if (error.status === 401) onceKeyGiven(load);
      // The page works without them; a source that cannot be read is told with the first question.
      if (number === latest) show({ questions: [], tables: [], table_count: 0 });
    }
  };
  read("questions", ({ questions }) => {
    byId("start-questions").classList.remove("pending");
    byId("start-questions").replaceChildren(...questionItems(questions.map(({ question }) => question), pick));
  });
  read("tables", showTables);
}

/** Return the items of a list of questions; `ask(question)` is called with the one that is clicked. */
export function questionItems(questions, ask) {
  return questions.map((question) => make("li", {}, button(() => question, () => ask(question), { dir: "auto" })));
}

function showTables({ tables, table_count: count, may_explain: mayExplain }) {
  byId("tables").hidden = !tables.length;
  byId("start-tree").replaceChildren(...tables.map((table) => tableItem(table, mayExplain)));
  const isCut = count > tables.length;
  byId("start-more").hidden = !isCut;
  if (isCut) say(byId("start-more"), "tables_shown", { shown: tables.length, count });
}

function tableItem({ name, comment, rows, columns }, mayExplain) {
  const counted = rows === null ? null : say(make("span", { class: "shape" }), "row_count", { count: rows });
  const list = make("ul", {});
  const details = make("details", {}, make("summary", {}, make("bdi", { class: "name" }, name), counted), remark(comment), list);
  // Hundreds of tables have thousands of columns: they are made when they are looked at.
  details.addEventListener("toggle", () => {
    if (!list.childElementCount) list.append(...columns.map((column) => columnItem(column, mayExplain ? name : null)));
  });
  return make("li", {}, details, signButton("+", "insert", { name }, () => insert(name)));
}

/** Return the item of a column; where its `table` is given, values without a meaning can be explained. */
function columnItem(column, table) {
  const { name, type, comment, is_key: isKey, references, values, meanings, minimum, maximum } = column;
  const isRange = minimum !== null && maximum !== null;
  const explain = async (code, meaning) => {
    const source = byId("source").value || null;
    await postJson("proposals/codes", { source, table, column: name, code, meaning });
    const explained = columnItem({ ...column, meanings: { ...meanings, [code]: meaning } }, table);
    item.replaceWith(explained);
    explained.querySelector("button").focus();
    announce(text("code_explained", { code, meaning }));
  };
  const ask = (code) => {
    item.querySelector("form")?.remove();
    item.append(meaningForm(code, (meaning) => explain(code, meaning)));
    item.querySelector("input").focus();
  };
  const valueView = (value) => (meanings[value] || !table ? make("bdi", {}, meanings[value] ? `${value} = ${meanings[value]}` : value)
    : say(button(() => value, () => ask(value), { class: "link", dir: "auto" }), "explain_code", { code: value }, "title"));
  const item = make("li", {}, say(button(() => name, () => insert(name), { class: "link name", dir: "auto" }), "insert", { name }, "title"),
    make("code", {}, type), isKey ? say(make("span", { class: "shape" }), "primary_key") : null,
    references && make("bdi", { class: "shape" }, `→ ${references}`),
    make("span", { class: "shape values", dir: "auto" }, ...(isRange ? [`${minimum} – ${maximum}`] : values.map(valueView))), remark(comment));
  return item;
}

/** Return the form for the meaning of a code, which `save(meaning)` stores. */
function meaningForm(code, save) {
  const field = hinted(make("input", { required: true, maxlength: 200, dir: "auto", autocomplete: "off" }), "explain_code", { code });
  return form({ class: "own-words" }, () => save(field.value.trim()), field, submit("board_save", { class: "quiet" }));
}

/** Put a name into the question, where the cursor was. */
function insert(name) {
  const question = byId("question");
  const { selectionStart: start, selectionEnd: end, value } = question;
  question.setRangeText(`${/\S$/.test(value.slice(0, start)) ? " " : ""}${name} `, start, end, "end");
  if (byId("tables").matches(":popover-open")) byId("tables").hidePopover();
  question.dispatchEvent(new Event("input"));
  question.focus();
}

function remark(comment) {
  return comment ? make("p", { class: "hint", dir: "auto" }, comment) : null;
}
