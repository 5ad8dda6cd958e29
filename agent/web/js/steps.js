/** A run that has not ended: its steps, its time, and a way to stop it; and the steps of one that has. */

import { button } from "./controls.js";
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

const TICK_MS = 100;

/**
 * What comes is added at the end, so that nothing moves while someone reads it.
 * Return the view of a run: `element`, `start`, which takes the step that began, `wait`, which takes what it waits for, `load`, which takes the share of a file that
 * is read, and `end`, which stops the clock. Screen readers are told what it waits for, the beginning of a load and its half.
 */
export function progressView(steps, stop) {
  const clock = make("span", { class: "time" });
  const began = performance.now();
  let expected = 0;
  const tick = () => {
    const passed = performance.now() - began;
    const left = Math.ceil((expected - passed) / 1000);
    // It is an estimate, so tens of seconds are told in steps of five.
    const told = left > 0 ? text("time_left", { seconds: left > 10 ? 5 * Math.ceil(left / 5) : left }) : "";
    clock.textContent = [secondsText(passed), told].filter(Boolean).join(" · ");
  };
  const timer = setInterval(tick, TICK_MS);
  tick();
  const words = say(make("span"), "working");
  const bar = make("progress", { max: 1 });
  say(bar, "loading_file", {}, "aria-label");
  let share = 1;
  const state = make("p", { class: "working" }, make("span", { class: "dot", "aria-hidden": "true" }), words, clock,
    button("stop", stop));
  const element = make("div", { class: "progress" }, state, steps);
  return {
    element,
    start({ node, attempt, limit, expected_ms: whole }) {
      expected = whole ?? expected;
      const key = limit ? "step_again_of" : "step_again";
      this.wait(() => (attempt > 1 ? text(key, { step: text(node), attempt, limit }) : text(node)));
    },
    wait(what, counts) {
      bar.remove();
      share = 1;
      say(words, what, counts);
      if (typeof what === "string" && !counts?.done) announce(text(what, counts));
    },
    load(done) {
      if (done < share) announce(text("loading_file"));
      else if (share < 0.5 && done >= 0.5) announce(text("loading_share", { percent: 50 }));
      share = done;
      say(words, "loading_share", { percent: Math.floor(100 * done) });
      bar.setAttribute("value", String(done));
      if (!bar.isConnected) steps.after(bar);
    },
    end: () => clearInterval(timer),
  };
}
