/** A run that has not ended: its steps, its time, and a way to stop it. */

import { button } from "./controls.js";
import { announce, make } from "./dom.js";
import { say, text } from "./language.js";
import { secondsText } from "./numbers.js";

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
