/** The start: questions that return rows, and the tables of the source that is asked. */

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
  byId("start-tables").hidden = !tables.length;
  byId("start-tree").replaceChildren(...tables.map(tableItem));
  const isCut = count > tables.length;
  byId("start-more").hidden = !isCut;
  if (isCut) say(byId("start-more"), "tables_shown", { shown: tables.length, count });
}

function tableItem({ name, comment, rows, columns }) {
  const counted = rows === null ? null : say(make("span", { class: "shape" }), "row_count", { count: rows });
  const list = make("ul", {});
  const details = make("details", {}, make("summary", {}, make("bdi", { class: "name" }, name), counted), remark(comment), list);
  // Hundreds of tables have thousands of columns: they are made when they are looked at.
  details.addEventListener("toggle", () => {
    if (!list.childElementCount) list.append(...columns.map(columnItem));
  });
  return make("li", {}, details);
}

function columnItem({ name, type, comment, minimum, maximum }) {
  const range = minimum !== null && maximum !== null && make("span", { class: "shape", dir: "auto" }, `${minimum} – ${maximum}`);
  return make("li", {}, make("bdi", { class: "name" }, name), make("code", {}, type), range || null, remark(comment));
}

function remark(comment) {
  return comment ? make("p", { class: "hint", dir: "auto" }, comment) : null;
}
