/** Questions to start with, and the tables of the source that is asked: beside the conversation, or in a sheet. */

import { request } from "./api.js";
import { byId, make } from "./dom.js";
import { onceKeyGiven } from "./key.js";
import { onLanguage, say } from "./language.js";

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
      const found = await (await request(`sources/${path}${query}`, { asksKey: false })).json();
      if (number === latest) show(found);
    } catch (error) {
      if (error.status === 401) onceKeyGiven(load);
      // The page works without them; a source that cannot be read is told with the first question.
      if (number === latest) show({ questions: [], tables: [], table_count: 0 });
    }
  };
  read("questions", showQuestions);
  read("tables", showTables);
}

function showQuestions({ questions }) {
  byId("start-questions").classList.remove("pending");
  byId("start-questions").replaceChildren(...questions.map(({ question }) => make("li", {},
    make("button", { type: "button", class: "quiet", dir: "auto", on: { click: () => pick(question) } }, question))));
}

function showTables({ tables, table_count: count }) {
  byId("tables").hidden = !tables.length;
  byId("start-tree").replaceChildren(...tables.map(tableItem));
  const isCut = count > tables.length;
  byId("start-more").hidden = !isCut;
  if (isCut) say(byId("start-more"), "tables_shown", { shown: tables.length, count });
}

function tableItem({ name, comment, rows, columns }) {
  const counted = rows === null ? null : say(make("span", { class: "shape" }), "row_count", { count: rows });
  const list = make("ul", {});
  const details = make("details", {}, make("summary", {}, make("bdi", { class: "name" }, name), counted), remark(comment), list);
  const insertion = make("button", { type: "button", class: "small", on: { click: () => insert(name) } }, "+");
  // Hundreds of tables have thousands of columns: they are made when they are looked at.
  details.addEventListener("toggle", () => {
    if (!list.childElementCount) list.append(...columns.map(columnItem));
  });
  return make("li", {}, details, say(say(insertion, "insert", { name }, "aria-label"), "insert", { name }, "title"));
}

function columnItem({ name, type, comment, is_key: isKey, references, values, minimum, maximum }) {
  const stored = minimum !== null && maximum !== null ? `${minimum} – ${maximum}` : values.join(", ");
  return make("li", {}, say(make("button", { type: "button", class: "link name", dir: "auto", on: { click: () => insert(name) } }, name), "insert", { name }, "title"),
    make("code", {}, type), isKey ? say(make("span", { class: "shape" }), "primary_key") : null,
    references && make("bdi", { class: "shape" }, `→ ${references}`),
    stored ? make("span", { class: "shape", dir: "auto" }, stored) : null, remark(comment));
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
