/** What is shown in place of an answer: an error in plain words. */

import { got } from "./api.js";
import { button, showError } from "./controls.js";
import { make } from "./dom.js";
import { say } from "./language.js";
import { saveMenu } from "./menu.js";
import { partView } from "./report.js";
import { tableView } from "./table.js";

/** The kinds of errors by code: each has a heading, and an explanation with a next step, in the texts. */
const KINDS = {
  connection: ["connection_lost"],
  stopped: ["stopped", "statement_cancelled"],
  question: ["invalid_question", "question_too_long", "input_invalid", "invalid_output_type", "422"],
  data: ["cannot_answer", "data_missing", "source_empty", "off_topic"],
  words: [
    "sql_not_generated", "query_not_written", "query_spec_invalid", "plot_spec_invalid", "model_answer_unreadable",
    "names_unknown", "statement_unsound", "statement_failed", "tool_call_invalid", "sources_not_together",
  ],
  slow: ["statement_timeout", "tool_timeout", "request_timeout", "embedded_model_silent", "budget_exceeded"],
  busy: ["limit_reached", "thread_busy", "source_busy", "rate_limited", "429"],
  access: [
    "statement_refused", "permission_denied", "system_catalog_refused", "not_permitted", "row_rule_parameter_missing",
    "key_missing", "token_invalid", "token_not_permitted", "role_missing", "origin_refused", "401", "403",
  ],
  file: [
    "file_unreadable", "file_encrypted", "archive_suspicious", "file_too_large", "sheet_not_found", "header_not_found",
    "file_empty", "load_option_invalid", "file_unknown", "dataset_unknown", "request_too_large", "413",
  ],
  gone: ["thread_unknown", "run_unknown", "run_elsewhere", "nothing_asked", "nothing_answered"],
};
/** Those of the model, whose connection an operator can test. */
const OF_MODEL = ["model_unreachable", "model_rejected", "embedded_model_unavailable", "configuration"];
const KIND_OF = new Map(Object.entries(KINDS).flatMap(([kind, codes]) => codes.map((code) => [code, kind])));

let isOperator = false;
let tellKnown;
/** Fulfilled once it is known whether the user runs the server. */
export const operatorKnown = new Promise((resolve) => (tellKnown = resolve));

/** Say whether the user runs the server, and is told the cause and what to do. */
export function showCauses(isShown) {
  isOperator = isShown;
  tellKnown();
}

/**
 * Return the view of an error with a `code`, a `message` for operators and perhaps a `trace` and `seconds` to wait.
 * `again()`, if given, tries once more.
 */
export function failureView(error, again) {
  const [why, ...others] = reasons(error);
  return make("div", { class: "failure" },
    say(make("h3", { class: again ? null : "focus", tabindex: again ? null : "-1" }), `fail_${kindOf(error)}`),
    why, again ? button("again", again, { class: "focus" }) : null, ...others);
}

/** Return why an output with an error, which its answer explains, asks a question back again. */
export function failureReason({ error: { code }, answer, audit }) {
  return make("div", { class: "why" }, ...reasons({ code, message: answer, trace: audit.trace_id }));
}

function kindOf({ code }) {
  return KIND_OF.get(code) ?? "other";
}

/** Return an error in plain words, or its cause and a test of the model for operators, and its details. */
function reasons(error) {
  const { code, message, trace, seconds } = error;
  const kind = kindOf(error);
  const showsCause = isOperator && kind === "other" && message;
  const why = showsCause ? make("p", { dir: "auto" }, message) : say(make("p", { class: "error" }), `fail_${kind}_why`);
  const wait = seconds ? say(make("p"), "wait_s", { seconds }) : null;
  return [make("div", { role: "alert" }, why, wait), isOperator && OF_MODEL.includes(code) ? connectionTest() : null,
    operatorFold({ code, message: showsCause ? null : message, trace })];
}

/** Return a button that asks the model for a word, and says what came of it. */
function connectionTest() {
  const state = make("p", { role: "status", dir: "auto" });
  return make("div", { class: "toolbar" }, button("model_test", async () => {
    say(state, "working");
    try {
      const { ok, error, seconds } = await got("operate/model/test", { method: "POST" });
      say(state, ok ? "model_answers" : () => error.message, { seconds });
    } catch (error) {
      showError(state, error);
    }
  }), state);
}

/** Return the view of an output with an error, which came of what was `said`, with the rows that it has all the same. */
export function failedOutputView({ error, audit, tables, report }, said, again) {
  const view = failureView({ ...error, trace: audit.trace_id }, again);
  if (report) view.append(make("div", { class: "report" }, ...report.parts.map(partView)));
  const rows = tables.filter((table) => table.rows.length).map((table) => tableView(table, { title: said }));
  if (rows.length) view.append(say(make("h4"), "fail_rows"), ...rows);
  if (rows.length) view.append(make("div", { class: "toolbar" }, saveMenu(view)));
  return view;
}

function operatorFold({ code, message, trace }) {
  const facts = [["fail_code", code], ["fail_message", message], ["fail_trace", trace]].filter(([, value]) => value);
  if (!facts.length) return null;
  return make("details", { class: "operators" }, say(make("summary"), "fail_operators"),
    make("dl", {}, ...facts.flatMap(([key, value]) => [say(make("dt"), key), make("dd", { dir: "auto" }, value)])));
}
