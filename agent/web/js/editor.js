/** The statement of an answer in an editor; its own answer stands below. CodeMirror is fetched with the first one. */

import { got, postJson } from "./api.js";
import { button, choice, form, showError, submit } from "./controls.js";
import { announce, make } from "./dom.js";
import { current, say, text } from "./language.js";
import { plotKnown } from "./plot.js";

const DIALECTS = { duckdb: "PostgreSQL", mysql: "MySQL", oracle: "PLSQL", postgres: "PostgreSQL", redshift: "PostgreSQL", sqlite: "SQLite", tsql: "MSSQL" };
/** The dialects whose names are quoted by other signs than ". */
const QUOTES = { bigquery: "`", databricks: "`", mysql: "`", spark: "`" };
/** The tokens in which nothing stands for a column. */
const LITERAL = ["String", "QuotedIdentifier", "LineComment", "BlockComment"];
let sources = [];
let mayPropose = false;

/** Show the editors if the server runs statements; `answered` is what it says of its sources. */
export function allowEditing(answered) {
  document.body.classList.toggle("may-edit", answered.may_run_sql ?? false);
  sources = answered.sources.map(({ name }) => name);
  mayPropose = answered.may_propose ?? false;
}

/** Return whether the server runs statements. */
export function mayRun() {
  return document.body.classList.contains("may-edit");
}

/**
 * Return the button that opens an editor of the statement of `output`, the answer to a `question` about `source`.
 * `show(output)` returns the view of the answer of the edited statement.
 */
export function editorView(output, question, source, show) {
  const box = make("div", { class: "editor", hidden: true });
  let editor = null;
  const open = button("edit_sql", async () => {
    box.hidden = !box.hidden;
    open.setAttribute("aria-expanded", String(!box.hidden));
    if (!box.hidden) editor ??= fill(box, output, { question, source, show });
    if (!box.hidden) (await editor)?.focus();
  }, { "aria-expanded": "false" });
  return make("div", { class: "edited" }, open, box);
}

/** Return an empty editor for the conversation `thread`, a new one if it is null; it takes the focus. See `editorView`. */
export function emptyEditorView(thread, source, show) {
  const box = make("div", { class: "editor" });
  fill(box, { sql: "", thread_id: thread, audit: {} }, { question: "", source, show }).then((editor) => editor?.focus());
  return make("div", { class: "answer edited" }, box);
}

/** Fill `box` with the editor and return it; null where it could not be loaded. */
async function fill(box, { sql, thread_id, audit }, about) {
  box.replaceChildren(say(make("p", { role: "status", class: "hint" }), "working"));
  const result = make("div", { class: "result", hidden: true });
  const state = { ...about, sql, thread_id, trace_id: audit.trace_id, running: null };
  const execute = () => runStatement(state, result, run, stop);
  const run = button("run_sql", execute, { class: null });
  const stop = button("stop", () => state.running?.abort(), { hidden: true });
  try {
    // Where there are several databases, the conversation is about one of them.
    if (sources.length > 1 && thread_id) state.source ??= (await got(`threads/${thread_id}`)).source;
    state.source ??= sources[0];
    const editor = await codeEditor(state, execute);
    box.replaceChildren(...[sourceChoice(state, editor), editor.host].filter(Boolean),
      say(make("p", { class: "hint" }), "editor_keys"), make("div", { class: "buttons" }, run, stop), result);
    return editor;
  } catch (error) {
    showProblem(box, error);
    return null;
  }
}

/** Return the choice of the database, where there are several. */
function sourceChoice(state, editor) {
  if (sources.length < 2) return null;
  const chosen = (name) => {
    state.source = name;
    editor.load().catch(() => {});
  };
  return say(choice(sources.map((name) => [name, () => name]), state.source, chosen), "source", {}, "aria-label");
}

async function codeEditor(state, execute) {
  const cm = await import("../vendor/codemirror/codemirror.esm.min.mjs");
  const language = new cm.Compartment();
  // In a shadow tree CodeMirror adopts style sheets; in the document it would add a style element, which the policy forbids.
  const host = make("div", { class: "code" });
  const root = host.attachShadow({ mode: "open" });
  const view = new cm.EditorView({ root, parent: root, doc: state.sql, extensions: [
    cm.highlightSpecialChars(), cm.history(), cm.drawSelection(), cm.indentOnInput(), cm.bracketMatching(), cm.closeBrackets(),
    cm.autocompletion({ icons: false }), cm.EditorView.lineWrapping, cm.syntaxHighlighting(colours(cm)), language.of(cm.sql()), look(cm), cm.EditorView.domEventHandlers({ beforeinput: (event, view) => inserted(cm, event, view) }),
    cm.EditorState.phrases.of({ Completions: text("completions") }),
    cm.EditorView.contentAttributes.of({ "aria-label": text("sql_editor"), dir: "ltr", lang: current() }),
    cm.EditorView.updateListener.of((update) => {
      state.sql = update.state.doc.toString();
    }),
    cm.keymap.of([{ key: "Mod-Enter", run: () => Boolean(execute()) }, ...cm.closeBracketsKeymap, ...cm.defaultKeymap,
      ...cm.historyKeymap, ...cm.completionKeymap]),
  ] });
  const load = async () => {
    const { dialect, tables } = await got(`sql/schema?source=${encodeURIComponent(state.source)}`);
    const named = { dialect: cm[DIALECTS[dialect] ?? "StandardSQL"], schema: nested(tables), upperCaseKeywords: true };
    const first = [{ autocomplete: (context) => columnsIn(context, tables, QUOTES[dialect] ?? "\"") }];
    view.dispatch({ effects: language.reconfigure([cm.sql(named), cm.EditorState.languageData.of(() => first)]) });
  };
  await load();
  return { host, load, focus: () => view.focus() };
}

/**
 * Insert typed text and return whether it was. The browser itself would keep the style of the text that it replaces in an
 * attribute, which the policy forbids.
 */
function inserted({ EditorView }, event, view) {
  if (event.inputType !== "insertText" || event.isComposing || !event.data) return false;
  const { from, to } = view.state.selection.main;
  const change = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  const isHandled = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, change));
  if (!isHandled) view.dispatch(change());
  return true;
}

/** Return the columns of the tables that the statement names, as completions before all others; null behind a dot. */
function columnsIn(context, tables, quote) {
  const word = context.matchBefore(/[.\p{L}\p{N}_$]+/u);
  if (!word || word.text.includes(".") || context.tokenBefore(LITERAL)) return null;
  const words = new Set(context.state.doc.toString().toLowerCase().split(/[^\p{L}\p{N}_$]+/u));
  const named = tables.filter(({ name }) => words.has(name.toLowerCase()));
  const option = (label, detail) => ({ label, detail, apply: quoted(label, quote), boost: 50 });
  return { from: word.from, options: named.flatMap(({ name, columns }) => columns.map((label) => option(label, name))) };
}

/** Return a name as a statement has it: in quotes, unless all of it is plain and small. */
function quoted(name, quote) {
  return /^[a-z_][a-z_\d]*$/.test(name) ? name : `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** Return the columns by table, and those of tables outside the default schema by schema and table. */
function nested(tables) {
  const found = Object.create(null);
  for (const { schema, name, columns } of tables) {
    if (schema) (found[schema] ??= Object.create(null))[name] = columns;
    else found[name] = columns;
  }
  return found;
}

function colours({ HighlightStyle, tags }) {
  return HighlightStyle.define([
    { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
    { tag: [tags.string, tags.special(tags.string), tags.number, tags.bool, tags.null], color: "var(--string)" },
    { tag: tags.comment, color: "var(--dim)" },
  ]);
}

function look({ EditorView }) {
  const dark = { color: "var(--text)", backgroundColor: "var(--surface)" };
  return EditorView.theme({
    "&": { border: "1px solid var(--line)", borderRadius: "10px", background: "var(--raised)", color: "var(--text)" },
    "&.cm-focused": { outline: "2px solid var(--accent)" },
    ".cm-scroller": { maxHeight: "18rem", fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", fontSize: ".875rem", lineHeight: "1.65" },
    ".cm-content": { padding: ".9rem .4rem", caretColor: "var(--accent)" },
    ".cm-cursor": { borderLeftColor: "var(--accent)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 25%, transparent)" },
    ".cm-tooltip": { ...dark, border: "1px solid var(--line)", borderRadius: "8px" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--tint)", color: "var(--accent)" },
  });
}

/** Run the statement and show its rows; return whether it began, which it does not while another one runs. */
function runStatement(state, result, run, stop) {
  if (state.running) return true;
  state.running = new AbortController();
  run.disabled = true;
  stop.hidden = false;
  result.hidden = false;
  result.replaceChildren(say(make("p", { role: "status", class: "hint" }), "working"));
  const { sql, source, trace_id, question } = state;
  const sent = { sql, source, trace_id };
  postJson("sql", { ...sent, question, ...(state.thread_id && { thread_id: state.thread_id }) }, state.running.signal)
    .then((response) => response.json())
    .then((output) => plotKnown(output).then(() => show(result, output, state, sent)))
    .catch((error) => showProblem(result, error))
    .finally(() => {
      state.running = null;
      run.disabled = false;
      stop.hidden = true;
    });
  return true;
}

function show(result, output, state, sent) {
  // The first statement begins a conversation; the next ones belong to it.
  state.thread_id = output.thread_id;
  const view = state.show(output);
  result.replaceChildren(view, ...(mayPropose ? [proposal({ ...sent, trace_id: output.audit.trace_id }, state.question)] : []));
  announce(`${text("edited_by_hand")}. ${text("row_count", { count: output.tables[0].rows.length })}`);
  view.querySelector(".focus").focus({ preventScroll: true });
  result.scrollIntoView({ block: "nearest" });
}

/** Return the form that proposes the statement that ran as the verified query of a question. */
function proposal(ran, answered) {
  const question = say(make("input", { type: "text", maxlength: "10000", dir: "auto", required: true, value: answered }), "propose_question", {}, "aria-label");
  const view = form({ class: "propose" }, async () => {
    await postJson("sql/proposals", { ...ran, question: question.value.trim() });
    const state = say(make("p", { class: "noted", role: "status", tabindex: "-1" }), "proposed_sql");
    view.replaceWith(state);
    state.focus();
  }, question, submit("propose_sql", { class: "quiet" }));
  return view;
}

/** Say in `place` that the run was stopped, or what went wrong. */
function showProblem(place, { name, message }) {
  showError(place, { message: name === "AbortError" ? text("fail_stopped") : message });
}
