/** The configured sources, for operators: their state, a form to test and add one, and their removal. */

import { got, postJson, request } from "./api.js";
import { button, checkbox, choice, confirmed, field, fold, form, labelled, showError, submit } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say, text } from "./language.js";
import { numberText } from "./numbers.js";

const PATH = "operate/sources";
const SERVER = ["host", "port", "database", "user", "password"];
/** By engine, its name and the fields of the form. The first one is chosen at first. */
const ENGINES = {
  postgresql: ["PostgreSQL", SERVER],
  mysql: ["MySQL", SERVER],
  mariadb: ["MariaDB", SERVER],
  mssql: ["SQL Server", SERVER],
  clickhouse: ["ClickHouse", SERVER],
  redshift: ["Amazon Redshift", SERVER],
  sqlite: ["SQLite", ["file"]],
  duckdb: ["DuckDB", ["file"]],
  "": ["", ["url"]],
};
const FIELDS = {
  url: { type: "text", required: true, maxlength: "2000", placeholder: "snowflake://user@account/database?warehouse=..." },
  file: { type: "text", required: true, maxlength: "1000" },
  host: { type: "text", required: true, maxlength: "255" },
  port: { type: "number", min: "1", max: "65535" },
  database: { type: "text", maxlength: "200" },
  user: { type: "text", maxlength: "200" },
  password: { type: "password", maxlength: "1000", autocomplete: "new-password" },
};

/** The bytes that files of databases have, as text, and where. */
const SIGNATURES = [[0, "SQLite format 3"], [8, "DUCK"]];
let changed = () => {};
/** The key of what is said of a source that was added: the first one takes the place of the sample shop. */
let addedKey = "";

/** Show the button that opens the sources if they may be edited; `onChange` is called when there is another one, or one less. */
export function addSourceSettings({ may_edit_sources: mayEdit, is_sample: isSample }, onChange) {
  changed = onChange;
  addedKey = isSample ? "sources_added_first" : "sources_added";
  const opening = byId("edit-sources");
  opening.hidden = !mayEdit;
  opening.onclick = () => new SourcesView(byId("sources-dialog")).open();
}

/**
 * Return the offer to add `file` as a source, where it is a database and the user may add some; else null.
 * `done(name, key)` is called once it is added, with the key of what is said of it, or without a name if it is not.
 */
export async function databaseOffer(file, done) {
  const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 32).arrayBuffer()));
  if (byId("edit-sources").hidden || !SIGNATURES.some(([at, sign]) => head.startsWith(sign, at))) return null;
  const state = say(make("p", { role: "status" }), "sources_offer", { name: file.name });
  const add = async () => {
    const key = addedKey;
    for (const each of buttons) each.disabled = true;
    say(state, "sources_checking");
    try {
      const body = new FormData();
      body.append("file", file);
      const { name } = await got(`${PATH}/files`, { method: "POST", body });
      await changed();
      done(name, key);
    } catch (error) {
      showError(state, error);
      for (const each of buttons) each.disabled = false;
    }
  };
  const buttons = [button("sources_save", add), button("load_cancel", () => done(null))];
  return make("div", { class: "buttons" }, state, ...buttons);
}

class SourcesView {
  constructor(dialog) {
    this.dialog = dialog;
    this.state = make("p", { class: "hint", role: "status", tabindex: "-1" });
    this.list = make("div", { class: "proposals" });
    this.adding = make("div", {});
    dialog.replaceChildren(say(make("h2", { id: "sources-title", tabindex: "-1" }), "sources_title"), this.state, this.list, this.adding,
      make("div", { class: "buttons" }, button("review_close", () => dialog.close())));
  }

  async open() {
    this.dialog.showModal();
    await this.load();
  }

  /** Show the sources as they are now. */
  async load() {
    say(this.state, "working");
    try {
      const { sources, may_edit: mayEdit } = await got(PATH);
      this.list.replaceChildren(...sources.map((source) => this.sourceView(source)));
      this.adding.replaceChildren(...(mayEdit ? [fold("sources_add", this.form())] : []));
      if (!mayEdit) say(this.state, "sources_tenant");
      else if (!sources.length) say(this.state, "sources_none");
      else this.state.replaceChildren();
    } catch (error) {
      showError(this.state, error);
    }
  }

  /** Tell the page and this view that the sources have changed, and say so. */
  async changed(key, name) {
    await Promise.all([this.load(), changed()]);
    say(this.state, key, { name });
    this.state.focus();
    announce(text(key, { name }));
  }

  sourceView({ name, engine, description, url, may_remove: mayRemove }) {
    const state = make("p", { class: "source-state", role: "status" });
    const check = () => checkSource(name, state);
    const tools = make("div", { class: "buttons" }, say(button("sources_test", check), "sources_test_one", { name }, "aria-label"));
    if (mayRemove) tools.append(confirmed("sources_remove", "sources_remove_sure", () => this.remove(name, state)));
    check();
    return make("article", { class: "proposal" },
      make("h3", {}, make("bdi", {}, name), " ", make("span", { class: "shape" }, engine)),
      description ? make("p", { dir: "auto" }, description) : null,
      make("p", {}, make("code", {}, url)), state,
      mayRemove ? null : say(make("p", { class: "hint" }), "sources_fixed"), tools);
  }

  async remove(name, state) {
    try {
      await request(`${PATH}/${encodeURIComponent(name)}`, { method: "DELETE" });
    } catch (error) {
      return showError(state, error);
    }
    await this.changed("sources_removed", name);
  }

  form() {
    const name = field("sources_name", { type: "text", required: true, maxlength: "63", dir: "auto" });
    const description = field("sources_description", { type: "text", maxlength: "500", dir: "auto" });
    const options = Object.entries(ENGINES).map(([value, [title]]) => [value, title ? () => title : "sources_by_url"]);
    const engine = choice(options, "postgresql", () => showFields());
    const own = make("div", { class: "source-fields" });
    const result = make("div", { class: "source-result", role: "status", tabindex: "-1" });
    const accepting = checkbox("sources_accept_writable", {});
    const writable = accepting.firstChild;
    const fields = () => ENGINES[engine.value][1];
    const showFields = () => {
      own.replaceChildren(...fields().map((each) => field(`sources_${each}`, { "data-field": each, ...FIELDS[each] })));
      accepting.hidden = true;
      writable.checked = false;
      result.replaceChildren();
    };
    showFields();
    const made = form({ autocomplete: "off" }, () => send("", ({ name: added }) => this.changed(addedKey, added)), name, description,
      labelled("sources_engine", engine),
      own, say(make("p", { class: "hint" }), "sources_stored"), result, accepting,
      make("div", { class: "buttons" }, button("sources_test", () => send("/test", (tested) => showTest(tested, result, accepting))), submit("sources_save")));
    const body = () => {
      const given = { name: name.lastChild.value, description: description.lastChild.value, allow_writable_account: writable.checked };
      if (engine.value) given.engine = engine.value;
      for (const input of own.querySelectorAll("input")) {
        if (input.value) given[input.dataset.field] = input.type === "number" ? Number(input.value) : input.value;
      }
      return given;
    };
    let isSending = false;
    const send = async (path, show) => {
      if (isSending || !made.reportValidity()) return;
      isSending = true;
      result.replaceChildren(say(make("p", {}), "sources_checking"));
      try {
        await show(await (await postJson(PATH + path, body())).json());
      } catch (error) {
        showError(result, error);
        if (error.code === "account_can_write") accepting.hidden = false;
      } finally {
        isSending = false;
      }
    };
    return made;
  }
}

/** Show in `state` whether the source answers. */
async function checkSource(name, state) {
  say(state, "sources_checking");
  try {
    const { ok, error, tables, seconds } = await (await postJson(`${PATH}/${encodeURIComponent(name)}/test`, {})).json();
    if (!ok) return showError(state, error);
    const facts = { tables: tables === null ? "" : numberText(tables), seconds: numberText(seconds) };
    say(state, tables === null ? "sources_answers_only" : "sources_answers", facts);
  } catch (error) {
    showError(state, error);
  }
}

/** Show the result of a test; an account that can write may be accepted. */
function showTest(tested, result, accepting) {
  const { tables, seconds, can_write: canWrite, rights, rights_known: isKnown, advice, warnings } = tested;
  const key = canWrite ? "sources_can_write" : isKnown ? "sources_read_only" : "sources_rights_unknown";
  const needsAdvice = advice && (canWrite || !isKnown);
  result.replaceChildren(
    say(make("p", {}), "sources_tested", { tables: numberText(tables), seconds: numberText(seconds) }),
    say(make("p", { class: canWrite ? "error" : "" }), key, { rights: rights.join(", ") }),
    ...warnings.map((warning) => make("p", { class: "hint", dir: "auto" }, warning)),
    ...(needsAdvice ? [fold("sources_advice", make("pre", {}, advice))] : []));
  accepting.hidden = !canWrite;
  announce(result.firstChild.textContent);
}
