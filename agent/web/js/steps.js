/** The steps of a run as they end. */

import { announce, make } from "./dom.js";
import { say, text } from "./language.js";
import { secondsText } from "./numbers.js";
import { sqlView } from "./sql.js";

/** A line as the terminal shows it: a mark, what was done, the seconds, what came of it. */
const LINE = /^([✓✗])\s+(\S+)\s+([\d.]+)\s*s\s*(.*)$/s;

/** What is planned, where that is no name of a tool. */
const SAID = { "told what is wrong": "told_wrong" };

/** Nodes whose steps do nothing without a call of the model. */
const WITH_MODEL = new Set(["plan", "validate_sql"]);

/** Return a list of steps with `add`, which takes what an event of a step has. */
export function stepList() {
  const list = make("ol", { class: "steps" });
  say(list, "steps", {}, "aria-label");
  return {
    element: list,
    add({ node, line, latency_ms, update }) {
      // Steps for a model have no line if none was called.
      if (!line) return;
      const [, mark = "✓", name = node, , detail = ""] = line.match(LINE) ?? [];
      const item = stepItem({ name, failed: mark === "✗", latency_ms, detail });
      if (update?.sql_request) item.append(sqlView(update.sql_request));
      list.append(item);
      announce(text(name));
    },
  };
}

/** Return the list of the steps in an audit. */
export function auditSteps(audit) {
  const steps = audit.steps.filter((step) => step.calls.length || !WITH_MODEL.has(step.node));
  const items = steps.map((step) => stepItem({
    name: step.tool ?? step.node, failed: Boolean(step.error), latency_ms: step.latency_ms, detail: step.error ?? "",
  }));
  return say(make("ol", { class: "steps" }, ...items), "steps", {}, "aria-label");
}

function stepItem({ name, failed, latency_ms, detail }) {
  return make("li", { class: failed ? "failed" : null },
    make("span", { class: "mark", "aria-hidden": "true" }, failed ? "✗" : "✓"),
    say(make("span", { class: "step" }), name),
    say(make("span", { class: "detail", dir: "auto" }), () => detailText(name, detail)),
    say(make("span", { class: "time" }), () => secondsText(latency_ms)));
}

/** Return what came of a step: counts and plans in the language of the page, what is of the data or the model as it is. */
function detailText(name, detail) {
  const [, count, what] = detail.match(/^(\d+) (row|column|question|answer)s?$/) ?? [];
  if (count) return text(`${what}_count`, { count: Number(count) });
  if (name === "plot") return detail.replace(/^(\w+) of r\d+$/, "$1");
  return name === "plan" ? text(SAID[detail] ?? detail) : detail;
}
